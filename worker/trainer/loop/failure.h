// Why training ended early: what RankFailure reports.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "common/result.h"
#include "worker/trainer/loop/reporter.h"

namespace caravan::trainer {

struct TrainingFailure {
  FailureReason reason = FailureReason::Internal;
  std::string message;
  std::optional<ShortageRecord> shortage = std::nullopt;  // of OutOfMemory
  bool of_host = false;                                   // whose memory it was, and no device's
};

using Outcome = tl::expected<void, TrainingFailure>;

// What reading input causes: wrong input, or a machine that cannot read it now.
inline tl::unexpected<TrainingFailure> input_failure(const Error& error) {
  const bool is_wrong = error.code == ExitCode::kBadInput;
  return tl::unexpected(TrainingFailure{
      is_wrong ? FailureReason::InvalidInput : FailureReason::DataUnavailable, error.message});
}

}  // namespace caravan::trainer
