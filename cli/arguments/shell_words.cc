#include "cli/arguments/shell_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace caravan::cli {
namespace {

bool is_plain(unsigned char c) {
  return std::isalnum(c) || std::string_view("._/-+,:@").find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_path(const std::string& path) {
  const std::string word = path.starts_with('-') ? "./" + path : path;
  return !word.empty() && std::ranges::all_of(word, is_plain) ? word : shell_quoted(word);
}

}  // namespace caravan::cli
