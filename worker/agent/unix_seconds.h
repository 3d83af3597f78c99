// The time now as others read it: seconds since 1970.
#pragma once

#include <chrono>

namespace caravan::agent {

inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace caravan::agent
