#include "common/decimal.h"

#include <fmt/format.h>

#include <charconv>

#include "common/take.h"

namespace caravan {
namespace {

bool looks_like_a_decimal(std::string_view text) {
  take_one_of(text, "+-");
  if (take_digits(text) == 0) return false;
  if (take_one_of(text, ".") && take_digits(text) == 0) return false;
  if (take_one_of(text, "eE")) {
    take_one_of(text, "+-");
    if (take_digits(text) == 0) return false;
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
