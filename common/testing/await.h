// For tests: waits for what another thread or program does. The test's own time limit is the end of it.
#pragma once

#include <chrono>
#include <thread>

namespace caravan::test {

// What is waited for should come at once; a busy machine gets this long before a test fails.
inline constexpr std::chrono::seconds kPatience{60};

// Sleeps in between: whoever is waited for may need the processor.
template <typename Condition>
void await(Condition holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

}  // namespace caravan::test
