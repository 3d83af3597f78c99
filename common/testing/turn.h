// For tests that take long: this one runs in one run of three, by its name and the day (sample.h), and in
// soak always. By hand, without CARAVAN_TEST_DAY, it runs.
//
// Not for a test whose cases are sampled one in three, or six, or nine (its turn and some cases would meet on
// no day), nor in a program that takes turns as a whole: BY_TURNS of caravan_test,
// tests/remembering_ctest.py.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/testing/sample.h"

namespace caravan::test {

inline bool current_test_has_its_turn() {
  if (std::getenv("CARAVAN_TEST_DAY") == nullptr) return true;
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  std::size_t number = 0;
  for (const char each : std::string(test.test_suite_name()) + "." + test.name()) number = number * 31 + each;
  return Sample(3).takes(number);
}

}  // namespace caravan::test

// The first statement of a test.
#define CARAVAN_BY_TURNS() \
  if (!caravan::test::current_test_has_its_turn()) GTEST_SKIP() << "its turn is on another day"
