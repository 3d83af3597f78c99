// The job loader takes any bytes: it answers with a job, which as JSON loads again to the same job, or with a
// message that names the input and is safe to print. What follows a NUL byte is an override.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/load_job.h"
#include "common/json.h"
#include "common/utf8.h"

namespace {

using caravan::cli::LoadedJob;

void require(bool condition, const char* what, const std::string& context) {
  if (condition) return;
  std::fprintf(stderr, "%s\n%s\n", what, context.c_str());
  std::abort();
}

void check_message(const std::string& message) {
  require(message.starts_with("fuzz.yaml") || message.starts_with("--set"), "the message names no input",
          message);
  require(!caravan::first_invalid_utf8(message), "the message is not UTF-8", message);
  for (const char c : message) {
    require(c == '\n' || static_cast<unsigned char>(c) >= 0x20, "the message has control characters",
            message);
  }
}

void check_job(const LoadedJob& loaded) {
  const std::string json = caravan::to_json(loaded.job);
  const auto again = caravan::cli::parse_job(json, "again.json", {});
  require(again.has_value(), "a loaded job does not load again",
          again ? json : again.error().message + "\n" + json);
  require(caravan::to_json(again->job) == json, "a job changes when it is loaded again", json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t nul = input.find('\0');
  std::vector<std::string> sets;
  if (nul != std::string_view::npos) sets.emplace_back(input.substr(nul + 1));
  const auto loaded = caravan::cli::parse_job(std::string(input.substr(0, nul)), "fuzz.yaml", sets);
  if (loaded) {
    check_job(*loaded);
  } else {
    check_message(loaded.error().message);
  }
  return 0;
}
