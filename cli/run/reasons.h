// Results and reasons that a local run gives itself; the coordinator's come with its reports. Part of the
// API.
#pragma once

namespace caravan::cli::reasons {

// JobResult.result.
inline constexpr char kComplete[] = "Complete";
inline constexpr char kFailed[] = "Failed";
inline constexpr char kInterrupted[] = "Interrupted";

inline constexpr char kPodLost[] = "PodLost";                        // an agent was killed
inline constexpr char kMaxRestartsReached[] = "MaxRestartsReached";  // failurePolicy.maxRestarts is used up
inline constexpr char kFailurePolicyMatched[] = "FailurePolicyMatched";  // a rule says Fail
inline constexpr char kAgentFailed[] = "AgentFailed";                    // an agent gave up; its log says why
inline constexpr char kStoppedByUser[] = "StoppedByUser";

}  // namespace caravan::cli::reasons
