#include "common/visible_gpus.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

namespace caravan {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// The number that the entry begins with, as CUDA reads it (strtoul), or a name; empty where it is neither.
std::string gpu_of(std::string_view entry) {
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) return std::string(entry);
  if (entry.starts_with('+')) entry.remove_prefix(1);
  int number = -1;
  std::from_chars(entry.data(), entry.data() + entry.size(), number);
  return number < 0 ? "" : std::to_string(number);
}

}  // namespace

std::vector<std::string> read_visible_gpus(std::string_view value) {
  std::vector<std::string> gpus;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    std::string gpu = gpu_of(without_blanks(value.substr(begin, end - begin)));
    if (gpu.empty()) break;
    if (std::ranges::find(gpus, gpu) != gpus.end()) return {};
    gpus.push_back(std::move(gpu));
    begin = end + 1;
  }
  return gpus;
}

std::optional<std::vector<std::string>> visible_gpus() {
  const char* const value = std::getenv(kVisibleGpus);
  if (value == nullptr) return std::nullopt;
  return read_visible_gpus(value);
}

}  // namespace caravan
