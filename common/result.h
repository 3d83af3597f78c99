// Errors as values: what can fail returns Result<T>, and the message says what, where and what to do.
//
// Exceptions stay inside the wrapper of the library that throws them. `code` is the exit code a command line
// program ends with when nobody handles the error.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace caravan {

// Exit codes of every program, as documented for users.
enum class ExitCode : int {
  kDone = 0,
  kJobFailed = 1,
  kBadInput = 2,
  kDoesNotFit = 3,
  kClusterUnreachable = 4,
  kLeft = 75,  // an agent that was told to end; its job goes on
  kInterrupted = 130,
};

struct [[nodiscard]] Error {
  std::string message;
  ExitCode code = ExitCode::kJobFailed;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> bad_input(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message), ExitCode::kBadInput});
}

inline tl::unexpected<Error> failure(std::string message) {
  return tl::unexpected<Error>(Error{std::move(message), ExitCode::kJobFailed});
}

}  // namespace caravan
