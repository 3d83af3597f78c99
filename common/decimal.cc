#include "common/decimal.h"

#include <fmt/format.h>

#include <charconv>

namespace caravan {
namespace {

std::size_t skip_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  text.remove_prefix(count);
  return count;
}

bool skip_one_of(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

bool looks_like_a_decimal(std::string_view text) {
  skip_one_of(text, "+-");
  if (skip_digits(text) == 0) return false;
  if (skip_one_of(text, ".") && skip_digits(text) == 0) return false;
  if (skip_one_of(text, "eE")) {
    skip_one_of(text, "+-");
    if (skip_digits(text) == 0) return false;
  }
  return text.empty();
}

}  // namespace

Result<double> parse_decimal(std::string_view text) {
  if (!looks_like_a_decimal(text)) {
    return bad_input(fmt::format("\"{}\" is not a decimal number; write one such as 0.1 or 3e-4", text));
  }
  if (text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc()) {
    return bad_input(fmt::format("\"{}\" is too large or too close to zero for a double", text));
  }
  return value;
}

}  // namespace caravan
