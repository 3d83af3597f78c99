// For tests that take long: this one runs one day in three, by its name and the day (sample.h), and in soak
// always. By hand, without CARAVAN_TEST_DAY, it runs.
//
// Not in a program that takes turns as a whole: BY_TURNS of caravan_test, tests/remembering_ctest.py.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <string>

namespace caravan::test {

// One more every nine days, so that a test in time meets all of its cases where these are sampled one in
// three, six or nine.
constexpr bool has_its_turn(std::size_t number, std::size_t day) {
  return (number + day + day / 9) % 3 == 0;
}

inline bool current_test_has_its_turn() {
  const char* const day = std::getenv("CARAVAN_TEST_DAY");
  if (day == nullptr || std::string(day) == "all") return true;
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  std::size_t number = 0;
  for (const char each : std::string(test.test_suite_name()) + "." + test.name()) number = number * 31 + each;
  return has_its_turn(number, std::strtoul(day, nullptr, 10));
}

}  // namespace caravan::test

// The first statement of a test.
#define CARAVAN_BY_TURNS() \
  if (!caravan::test::current_test_has_its_turn()) GTEST_SKIP() << "its turn is on another day"
