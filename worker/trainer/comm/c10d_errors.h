// What c10d throws, as CommunicationError with the operation in front.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

// c10d's errors carry a stack trace after the first line.
inline std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

template <typename Action>
auto guarded(const std::string& what, Action&& action) {
  try {
    return action();
  } catch (const std::exception& error) {
    throw CommunicationError(fmt::format("{}: {}", what, first_line(error)));
  }
}

}  // namespace caravan::trainer
