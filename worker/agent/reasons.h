// Reasons that conditions, events and results of a job carry; part of the API.
#pragma once

namespace caravan::agent::reasons {

// Why a gang stopped; also what failurePolicy.rules[].onReason matches.
inline constexpr char kRankFailed[] = "RankFailed";        // a rank ended by itself or by a signal
inline constexpr char kOutOfMemory[] = "OutOfMemory";      // a rank or the kernel ran out of memory
inline constexpr char kNonFiniteLoss[] = "NonFiniteLoss";  // too many steps in a row were not finite
inline constexpr char kPodLost[] = "PodLost";              // the agent of a node was lost
inline constexpr char kStalled[] = "Stalled";  // no step within stallTimeoutSeconds, or a rank is silent

// Why a job ended.
inline constexpr char kStepsReached[] = "StepsReached";
inline constexpr char kInvalidSpec[] = "InvalidSpec";                // a rank refused its input
inline constexpr char kMaxRestartsReached[] = "MaxRestartsReached";  // failurePolicy.maxRestarts is used up
inline constexpr char kFailurePolicyMatched[] = "FailurePolicyMatched";  // a rule says Fail
inline constexpr char kDeadlineExceeded[] = "DeadlineExceeded";          // activeDeadlineSeconds is over
inline constexpr char kStoppedByUser[] = "StoppedByUser";

// What a rank says of its own end (RankFailure.reason).
inline constexpr char kRankInvalidInput[] = "InvalidInput";
inline constexpr char kRankCommunication[] = "Communication";  // usually another rank's fault

// JobResult.result.
inline constexpr char kComplete[] = "Complete";
inline constexpr char kFailed[] = "Failed";
inline constexpr char kInterrupted[] = "Interrupted";

}  // namespace caravan::agent::reasons
