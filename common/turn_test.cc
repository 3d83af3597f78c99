#include "common/testing/turn.h"

#include <gtest/gtest.h>

namespace caravan::test {
namespace {

TEST(Turn, ComesWithinFiveDays) {
  for (std::size_t number = 0; number < 3; ++number) {
    std::size_t since = 0;
    for (std::size_t day = 20000; day < 20100; ++day) {
      since = has_its_turn(number, day) ? 0 : since + 1;
      ASSERT_LT(since, 5) << number << " on day " << day;
    }
  }
}

TEST(Turn, MeetsEveryCaseHoweverFewAreSampled) {
  for (std::size_t one_in = 1; one_in <= 12; ++one_in) {
    for (std::size_t number = 0; number < 3; ++number) {
      for (std::size_t at = 0; at < one_in; ++at) {
        bool met = false;
        for (std::size_t day = 20000; day < 20200; ++day)
          met = met || (has_its_turn(number, day) && (at + day) % one_in == 0);
        EXPECT_TRUE(met) << "case " << at << " of " << one_in << ", test " << number;
      }
    }
  }
}

}  // namespace
}  // namespace caravan::test
