// The outcome of an asynchronous call, waited for by a thread until a deadline or a stop request.
//
// The state is shared with the completion, so that a waiter may give up while the call still runs.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "common/call_context.h"
#include "kube/api/api_error.h"
#include "kube/transport/connection.h"

namespace caravan::kube {

template <typename T>
class Pending {
 public:
  Completion<T> completion() {
    return [state = state_](ApiResult<T> outcome) {
      {
        const std::lock_guard guard(state->mutex);
        state->outcome = std::move(outcome);
      }
      state->changed.notify_all();
    };
  }

  ApiResult<T> wait(Clock& clock, const CallContext& context) {
    std::unique_lock lock(state_->mutex);
    const auto ready = [this] { return state_->outcome.has_value(); };
    if (clock.wait_until(lock, state_->changed, context.deadline, context.stop, ready)) {
      return std::move(*state_->outcome);
    }
    if (context.stop.stop_requested())
      return api_failure(ErrorKind::kStopped, "stopped while waiting for the server");
    return api_failure(ErrorKind::kTimeout, "the server did not answer in time");
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::optional<ApiResult<T>> outcome;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace caravan::kube
