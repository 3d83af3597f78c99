// Any lines as the traces of a run, one a rank as they are asked for: they are a schedule that can be drawn,
// in which nobody works longer than the step took, or an error with a message.
#include <cstddef>
#include <sstream>
#include <string>

#include "cli/schedule/comparison.h"
#include "cli/schedule/trace_reader.h"
#include "fuzz/require.h"

namespace {

using caravan::Result;
using caravan::fuzz::require;

constexpr int kWidth = 80;

void check_drawing(const caravan::cli::Comparison& comparison) {
  std::istringstream text(comparison_text(comparison, {.width = kWidth}));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("stage ")) require(line.size() == kWidth, "a row is wider or narrower", line);
  }
  require(!comparison_json(comparison).empty(), "no JSON", "");
  require(!comparison_picture(comparison).empty(), "no picture", "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream lines{std::string(caravan::fuzz::text_of(data, size))};
  const auto next_line = [&lines](const std::string& path) -> Result<std::string> {
    std::string line;
    if (std::getline(lines, line)) return line;
    return caravan::bad_input(path + ": there is none");
  };
  auto executed = caravan::cli::read_traces("traces", next_line);
  if (executed) {
    check_drawing(caravan::cli::compare(*std::move(executed)));
  } else {
    require(executed.error().message.starts_with("traces"), "an error without a file",
            executed.error().message);
  }
  return 0;
}
