// For tests: waits for what another thread or program does. The test's own time limit is the end of it.
#pragma once

#include <chrono>
#include <thread>

namespace caravan::test {

// Sleeps in between: whoever is waited for may need the processor.
template <typename Condition>
void await(Condition holds) {
  while (!holds()) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

}  // namespace caravan::test
