// What c10d throws, as CommunicationError with the operation in front. Memory that a group was refused is no
// matter between ranks and stays what it is, c10::OutOfMemoryError.
#pragma once

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <exception>
#include <string>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/libtorch.h"

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
    if (is_out_of_host_memory(error)) throw;
    // NCCL tells the reason behind the first line.
    if (is_out_of_memory(error))
      C10_THROW_ERROR(OutOfMemoryError, fmt::format("{}: {}", what, words_of(error)));
    throw CommunicationError(fmt::format("{}: {}", what, first_line(error)));
  }
}

}  // namespace caravan::trainer
