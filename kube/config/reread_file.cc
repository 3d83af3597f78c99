#include "kube/config/reread_file.h"

#include <fmt/format.h>

#include "common/file_contents.h"

namespace caravan::kube {

std::string trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Result<std::string> RereadFile::get() {
  const std::lock_guard guard(mutex_);
  if (read_at_ && clock_.now() - *read_at_ < kOldest) return content_;
  if (std::string content = trimmed(file_contents(path_).value_or("")); !content.empty()) {
    content_ = std::move(content);
    read_at_ = clock_.now();
  } else if (content_.empty()) {
    return bad_input(fmt::format("{} cannot be read or is empty", path_));
  }
  return content_;
}

void RereadFile::forget() {
  const std::lock_guard guard(mutex_);
  read_at_.reset();
}

}  // namespace caravan::kube
