#include "common/visible_gpus.h"

#include <algorithm>
#include <cstdlib>

namespace caravan {
namespace {

bool names_a_gpu(std::string_view entry) {
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) return true;
  return !entry.empty() && entry.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::vector<std::string> read_visible_gpus(std::string_view value) {
  std::vector<std::string> gpus;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    const std::string_view entry = value.substr(begin, end - begin);
    if (!names_a_gpu(entry)) break;
    gpus.emplace_back(entry);
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
