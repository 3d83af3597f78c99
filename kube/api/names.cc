#include "kube/api/names.h"

#include <algorithm>

namespace caravan::kube {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

bool is_label_value(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back()) && std::ranges::all_of(text, [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace caravan::kube
