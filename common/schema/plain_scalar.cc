#include "common/schema/plain_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>

#include "common/take.h"

namespace caravan::schema {
namespace {

using namespace std::string_view_literals;

constexpr std::array kBooleans{
    "y"sv, "Y"sv, "yes"sv, "Yes"sv, "YES"sv, "true"sv,  "True"sv,  "TRUE"sv,  "on"sv,  "On"sv,  "ON"sv,
    "n"sv, "N"sv, "no"sv,  "No"sv,  "NO"sv,  "false"sv, "False"sv, "FALSE"sv, "off"sv, "Off"sv, "OFF"sv};
constexpr std::array kNulls{""sv, "~"sv, "null"sv, "Null"sv, "NULL"sv};
constexpr std::array kInfinities{".inf"sv, ".Inf"sv, ".INF"sv};
constexpr std::array kNotNumbers{".nan"sv, ".NaN"sv, ".NAN"sv};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& words, std::string_view text) {
  return std::ranges::find(words, text) != words.end();
}

// "5", "007", "1.", ".5", "1.e-5".
bool is_decimal(std::string_view text) {
  std::size_t digits = take_digits(text);
  if (take_one_of(text, ".")) digits += take_digits(text);
  if (digits == 0 || text.empty()) return digits > 0;
  if (!take_one_of(text, "eE")) return false;
  take_one_of(text, "+-");
  return take_digits(text) > 0 && text.empty();
}

bool is_integer(std::string_view digits, int base) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  return read.ec == std::errc() && read.ptr == digits.data() + digits.size();
}

// "0x1F", "0o17", "0b1".
bool is_integer_with_prefix(std::string_view text) {
  if (!take_one_of(text, "0")) return false;
  if (take_one_of(text, "xX")) return is_integer(text, 16);
  if (take_one_of(text, "oO")) return is_integer(text, 8);
  return take_one_of(text, "bB") && is_integer(text, 2);
}

bool is_number(std::string_view text) {
  if (is_among(kNotNumbers, text)) return true;
  const bool has_sign = take_one_of(text, "+-");
  if (is_among(kInfinities, text)) return true;
  if (text.starts_with('_') && !has_sign) return false;
  std::string plain(text);
  std::erase(plain, '_');
  return is_decimal(plain) || is_integer_with_prefix(plain);
}

}  // namespace

PlainScalar plain_scalar(std::string_view text) {
  if (is_among(kNulls, text)) return PlainScalar::kNull;
  if (is_among(kBooleans, text)) return PlainScalar::kBoolean;
  return is_number(text) ? PlainScalar::kNumber : PlainScalar::kText;
}

}  // namespace caravan::schema
