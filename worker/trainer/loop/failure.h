// Why training ended early: what RankFailure reports.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "worker/trainer/loop/reporter.h"

namespace caravan::trainer {

struct TrainingFailure {
  FailureReason reason = FailureReason::Internal;
  std::string message;
};

using Outcome = tl::expected<void, TrainingFailure>;

// What input files cause.
inline tl::unexpected<TrainingFailure> invalid_input(std::string message) {
  return tl::unexpected(TrainingFailure{FailureReason::InvalidInput, std::move(message)});
}

}  // namespace caravan::trainer
