// Reasons that conditions, events, reports and results of a job carry. Part of the API: users match them in
// failurePolicy.rules[].onReason and in alerts.
#pragma once

namespace caravan::reasons {

// Planned; DoesNotFit and InvalidSpec also of Failed, when no change of the cluster can help.
inline constexpr char kHeuristicSelected[] = "HeuristicSelected";
inline constexpr char kUserSpecified[] = "UserSpecified";
inline constexpr char kDoesNotFit[] = "DoesNotFit";
inline constexpr char kInvalidSpec[] = "InvalidSpec";  // also: a rank refused its input
inline constexpr char kNewerSpec[] = "NewerSpec";      // fields that this operator does not know
inline constexpr char kDamagedPlan[] = "DamagedPlan";  // status.plan.document is no plan of the job

// Of reports alone.
inline constexpr char kNodeAbsent[] = "NodeAbsent";  // an agent has not joined its gang

// Of events alone.
inline constexpr char kCertificatesLost[] = "CertificatesLost";  // somebody has deleted a Secret of them
inline constexpr char kPlanRepaired[] = "PlanRepaired";  // the plan's ConfigMap was changed by somebody else
inline constexpr char kNodeAvoided[] = "NodeAvoided";    // the job's pods avoid a machine that failed twice
inline constexpr char kStatusRefused[] = "StatusRefused";  // the API server does not take the job's status
inline constexpr char kUnreadable[] = "Unreadable";        // status or spec have values of another type

// Suspended.
inline constexpr char kByUser[] = "ByUser";
inline constexpr char kByQueue[] = "ByQueue";  // the queue took back what it had given
inline constexpr char kResumed[] = "Resumed";

// QuotaReserved; while the queue decides, its own reasons stand there, such as Pending.
inline constexpr char kQuotaReserved[] = "QuotaReserved";
inline constexpr char kPending[] = "Pending";
inline constexpr char kQueueMissing[] = "QueueMissing";  // the job names none
inline constexpr char kKueueMissing[] = "KueueMissing";  // its API is not there, or not ours to use
inline constexpr char kPriorityClassMissing[] =
    "PriorityClassMissing";                                    // the job names one that is not there
inline constexpr char kWorkloadDeleted[] = "WorkloadDeleted";  // by somebody else than the operator

// Scheduled.
inline constexpr char kAllPodsBound[] = "AllPodsBound";
inline constexpr char kWaitingForPods[] = "WaitingForPods";
inline constexpr char kGangTimeout[] = "GangTimeout";
inline constexpr char kWaitingForQuota[] =
    "WaitingForQuota";                               // no pod is made before the queue admits the job
inline constexpr char kPodsGated[] = "PodsGated";    // somebody keeps pods from the scheduler
inline constexpr char kNoDomain[] = "NoDomain";      // no node has the label that scheduling.topology names
inline constexpr char kNotAllowed[] = "NotAllowed";  // an administrator must allow what the job asks for

// Running.
inline constexpr char kRendezvous[] = "Rendezvous";
inline constexpr char kStepsAdvancing[] = "StepsAdvancing";

// CheckpointFailing.
inline constexpr char kSaveFailed[] = "SaveFailed";
inline constexpr char kSaved[] = "Saved";

// Why a gang stopped; also what failurePolicy.rules[].onReason matches.
inline constexpr char kRankFailed[] = "RankFailed";        // a rank ended by itself or by a signal
inline constexpr char kOutOfMemory[] = "OutOfMemory";      // a rank or the kernel ran out of memory
inline constexpr char kNonFiniteLoss[] = "NonFiniteLoss";  // too many steps in a row were not finite
inline constexpr char kSilentCorruption[] =
    "SilentCorruption";                            // ranks differ in what they must have in common
inline constexpr char kPodLost[] = "PodLost";      // the agent of a node was lost
inline constexpr char kPreempted[] = "Preempted";  // a pod was told to end, gave way, or lost its machine
inline constexpr char kStalled[] = "Stalled";      // no step in time, or a rank is silent
inline constexpr const char* kOfStops[] = {kRankFailed, kOutOfMemory, kNonFiniteLoss, kSilentCorruption,
                                           kPodLost,    kPreempted,   kStalled};

// Of an event, and of the condition Straggling.
inline constexpr char kStraggler[] = "Straggler";  // a rank is slower than those that do the same work

// Stalled and Restarting.
inline constexpr char kNoStepWithinTimeout[] = "NoStepWithinTimeout";
inline constexpr char kAttemptStarted[] = "AttemptStarted";

// Why a job ended.
inline constexpr char kStepsReached[] = "StepsReached";
inline constexpr char kMaxRestartsReached[] = "MaxRestartsReached";  // failurePolicy.maxRestarts is used up
inline constexpr char kFailurePolicyMatched[] = "FailurePolicyMatched";  // a rule says Fail
inline constexpr char kDeadlineExceeded[] = "DeadlineExceeded";          // activeDeadlineSeconds is over
inline constexpr char kAgentFailed[] = "AgentFailed";  // in a local run, an agent gave up; its log says why
inline constexpr char kStoppedByUser[] = "StoppedByUser";

// What a rank says of its own end (RankFailure.reason).
inline constexpr char kRankInvalidInput[] = "InvalidInput";
inline constexpr char kRankDataUnavailable[] = "DataUnavailable";  // this machine cannot read the input now
inline constexpr char kRankCommunication[] = "Communication";      // usually another rank's fault
inline constexpr char kRankInternal[] = "Internal";

// JobResult.result.
inline constexpr char kComplete[] = "Complete";
inline constexpr char kFailed[] = "Failed";
inline constexpr char kInterrupted[] = "Interrupted";

}  // namespace caravan::reasons
