#include "checkpoint/hugging_face/file_name.h"

#include <cstddef>

namespace caravan::checkpoint {
namespace {

constexpr std::size_t kLongestName = 255;  // of Linux

}  // namespace

bool is_file_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

}  // namespace caravan::checkpoint
