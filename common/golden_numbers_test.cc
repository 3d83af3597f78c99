// Quantities and decimals against what Kubernetes and Go read (tests/golden/numbers, and generate.sh there).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "common/decimal.h"
#include "common/quantity.h"
#include "common/testing/checkout.h"

namespace caravan {
namespace {

struct Line {
  std::string text;
  std::string reading;

  bool refused() const { return reading == "refused"; }
};

std::vector<Line> golden(const std::string& wanted) {
  std::ifstream file(test::source_folder() + "/tests/golden/numbers/numbers.tsv");
  std::vector<Line> lines;
  std::string kind;
  Line line;
  while (std::getline(file, kind, '\t') && std::getline(file, line.text, '\t') &&
         std::getline(file, line.reading)) {
    if (kind == wanted) lines.push_back(line);
  }
  return lines;
}

// What the largest number reads as, and what Kubernetes makes of all that are larger.
constexpr char kLarge[] = "large";

// What Kubernetes takes and we do not: signs, no digits at all, more than 19 of them, and larger numbers.
bool is_outside_of_ours(const Line& line) {
  const std::string mantissa = line.text.substr(0, line.text.find_first_not_of("0123456789."));
  const auto digits = std::ranges::count_if(mantissa, [](char c) { return c != '.'; });
  return line.text.starts_with('-') || line.text.starts_with('+') || digits == 0 || digits > 19 ||
         line.reading == kLarge;
}

TEST(GoldenNumbers, QuantitiesAreThoseOfKubernetes) {
  const std::vector<Line> lines = golden("quantity");
  ASSERT_FALSE(lines.empty());
  for (const Line& line : lines) {
    const Result<std::int64_t> quantity = parse_quantity(line.text);
    if (quantity) {
      const bool is_largest = *quantity == std::numeric_limits<std::int64_t>::max();
      EXPECT_EQ(is_largest ? kLarge : std::to_string(*quantity), line.reading) << '"' << line.text << '"';
    } else {
      EXPECT_TRUE(line.refused() || is_outside_of_ours(line)) << quantity.error().message;
    }
  }
}

// We want a digit on both sides of the point.
TEST(GoldenNumbers, DecimalsAreThoseOfGo) {
  const std::vector<Line> lines = golden("decimal");
  ASSERT_FALSE(lines.empty());
  for (const Line& line : lines) {
    const Result<double> decimal = parse_decimal(line.text);
    if (decimal) {
      EXPECT_EQ(fmt::format("{:016x}", std::bit_cast<std::uint64_t>(*decimal)), line.reading)
          << '"' << line.text << '"';
    } else {
      const bool stricter = line.text.starts_with('.') || line.text.ends_with('.') ||
                            line.text.find_first_of("xiInN_") != std::string::npos;
      const bool too_small = line.reading == "0000000000000000";
      EXPECT_TRUE(line.refused() || stricter || too_small) << decimal.error().message;
    }
  }
}

}  // namespace
}  // namespace caravan
