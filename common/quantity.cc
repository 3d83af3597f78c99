#include "common/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace caravan {
namespace {

using Wide = unsigned __int128;

// A suffix stands for 2^binary * 10^decimal.
struct Scale {
  int binary = 0;
  int decimal = 0;
};

struct Suffix {
  std::string_view text;
  Scale scale;
};

constexpr std::array<Suffix, 16> kSuffixes = {{{"", {0, 0}},
                                               {"Ki", {10, 0}},
                                               {"Mi", {20, 0}},
                                               {"Gi", {30, 0}},
                                               {"Ti", {40, 0}},
                                               {"Pi", {50, 0}},
                                               {"Ei", {60, 0}},
                                               {"n", {0, -9}},
                                               {"u", {0, -6}},
                                               {"m", {0, -3}},
                                               {"k", {0, 3}},
                                               {"M", {0, 6}},
                                               {"G", {0, 9}},
                                               {"T", {0, 12}},
                                               {"P", {0, 15}},
                                               {"E", {0, 18}}}};

constexpr std::array<std::string_view, 7> kBinarySuffixes = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

std::optional<Scale> parse_exponent(std::string_view text) {
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return std::nullopt;
  const bool negative = text[1] == '-';
  text.remove_prefix(negative || text[1] == '+' ? 2 : 1);
  std::uint8_t exponent = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return Scale{0, negative ? -exponent : exponent};
}

std::optional<Scale> parse_suffix(std::string_view text) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text == text) return suffix.scale;
  }
  return parse_exponent(text);
}

struct Mantissa {
  std::uint64_t digits = 0;
  int fraction_digits = 0;
};

// Takes the number off the front of `text`. At most 19 significant digits, as many as a result may have; a
// product with 2^60 and 10 fits in `Wide`.
std::optional<Mantissa> take_mantissa(std::string_view& text) {
  Mantissa mantissa;
  bool any = false;
  bool fraction = false;
  while (!text.empty()) {
    const char c = text.front();
    if (c == '.' && !fraction) {
      fraction = true;
    } else if (c >= '0' && c <= '9') {
      if (mantissa.digits >= 1'000'000'000'000'000'000) return std::nullopt;
      mantissa.digits = mantissa.digits * 10 + static_cast<std::uint64_t>(c - '0');
      mantissa.fraction_digits += fraction ? 1 : 0;
      any = true;
    } else {
      break;
    }
    text.remove_prefix(1);
  }
  return any ? std::optional(mantissa) : std::nullopt;
}

// mantissa * 2^binary * 10^decimal, rounded up; nothing when it does not fit in 63 bits.
std::optional<std::int64_t> scaled(std::uint64_t mantissa, int binary, int decimal) {
  constexpr Wide kLimit = std::numeric_limits<std::int64_t>::max();
  if (mantissa == 0) return 0;
  Wide value = static_cast<Wide>(mantissa) << binary;
  for (; decimal > 0; --decimal) {
    value *= 10;
    if (value > kLimit) return std::nullopt;
  }
  // Rounding up step by step ends where rounding up once does.
  for (; decimal < 0 && value > 1; ++decimal) value = value / 10 + (value % 10 != 0 ? 1 : 0);
  if (value > kLimit) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// In units of 10^-decimals.
Result<std::int64_t> parse(std::string_view text, int decimals) {
  std::string_view rest = text;
  const auto mantissa = take_mantissa(rest);
  const auto scale = parse_suffix(rest);
  if (!mantissa || !scale) {
    return bad_input(fmt::format("\"{}\" is not a quantity; write one such as 80Gi or 500M", text));
  }
  const auto value =
      scaled(mantissa->digits, scale->binary, scale->decimal + decimals - mantissa->fraction_digits);
  if (!value) return bad_input(fmt::format("\"{}\" is too large for a quantity", text));
  return *value;
}

}  // namespace

Result<std::int64_t> parse_quantity(std::string_view text) {
  return parse(text, 0);
}

Result<std::int64_t> parse_milli_quantity(std::string_view text) {
  return parse(text, 3);
}

std::string exact_quantity(std::int64_t bytes) {
  std::size_t suffix = 0;
  while (bytes != 0 && bytes % 1024 == 0 && suffix + 1 < kBinarySuffixes.size()) {
    bytes /= 1024;
    ++suffix;
  }
  return fmt::format("{}{}", bytes, kBinarySuffixes[suffix]);
}

std::string readable_quantity(std::int64_t bytes) {
  auto value = static_cast<double>(bytes);
  std::size_t suffix = 0;
  while (std::abs(value) >= 999.5 && suffix + 1 < kBinarySuffixes.size()) {
    value /= 1024;
    ++suffix;
  }
  const int decimals = suffix == 0 || std::abs(value) >= 99.95 ? 0 : 1;
  return fmt::format("{:.{}f}{}", value, decimals, kBinarySuffixes[suffix]);
}

}  // namespace caravan
