// What c10d throws, as CommunicationError with the operation in front. Memory that a group was refused is no
// matter between ranks and stays what it is, c10::OutOfMemoryError.
#pragma once

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/libtorch.h"

namespace caravan::trainer {

// NCCL tells the reason behind the first line. A stack trace goes, also that of an error whose text another
// one took over.
inline std::string on_one_line(const std::exception& error) {
  std::string text = words_of(error);
  text.resize(std::min(text.find("\nException raised from"), text.size()));
  text.resize(text.find_last_not_of('\n') + 1);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

template <typename Action>
auto guarded(const std::string& what, Action&& action) {
  try {
    return action();
  } catch (const std::exception& error) {
    if (is_out_of_host_memory(error)) throw;
    const std::string words = fmt::format("{}: {}", what, on_one_line(error));
    if (is_out_of_memory(error)) C10_THROW_ERROR(OutOfMemoryError, words);
    throw CommunicationError(words);
  }
}

}  // namespace caravan::trainer
