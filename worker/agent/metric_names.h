// Names of the agent's metrics, each with its help text. Names are part of the interface: dashboards and
// alerts use them.
#pragma once

namespace caravan::agent::metric {

struct Description {
  const char* name;
  const char* help;
};

// Of every rank (label rank).
inline constexpr Description kTokens{"caravan_tokens_total",
                                     "Tokens this rank stands for: the job's tokens divided by its ranks."};
inline constexpr Description kModelFlops{"caravan_model_flops_total",
                                         "Useful floating point operations, recomputation left out."};
inline constexpr Description kHardwareFlops{"caravan_hardware_flops_total",
                                            "Executed floating point operations, recomputation included."};
inline constexpr Description kDevicePeakFlops{
    "caravan_device_peak_flops", "Dense peak of the device in floating point operations per second."};
inline constexpr Description kMfu{"caravan_mfu_ratio", "Model FLOPs utilisation in the last step."};
inline constexpr Description kSteps{"caravan_steps_total", "Optimizer steps finished."};
inline constexpr Description kLastStepTimestamp{"caravan_last_step_timestamp_seconds",
                                                "When the last step finished, in Unix time."};
inline constexpr Description kPhaseSeconds{"caravan_phase_seconds_total", "Time spent by phase of a step."};
inline constexpr Description kAllocatedBytes{"caravan_device_memory_allocated_bytes",
                                             "Memory in tensors after the last step."};
inline constexpr Description kReservedBytes{"caravan_device_memory_reserved_bytes",
                                            "Memory held by the allocator after the last step."};
inline constexpr Description kPeakBytes{"caravan_device_memory_peak_bytes",
                                        "Most memory in tensors at any moment so far."};
inline constexpr Description kLimitBytes{"caravan_device_memory_limit_bytes",
                                         "Memory of the device that the job may use."};
inline constexpr Description kPredictedPeakBytes{"caravan_predicted_memory_peak_bytes",
                                                 "Peak memory that the plan predicts for this rank."};
inline constexpr Description kSlowdown{
    "caravan_rank_slowdown_ratio",
    "Time of this rank's own work in a step, divided by the median of the other ranks of its stage."};
inline constexpr Description kOutOfMemory{"caravan_oom_total", "Ends of this rank by lack of memory."};

// Of all ranks of this node together (labels op and axis).
inline constexpr Description kCollectiveBytes{
    "caravan_collective_bytes_total", "Bytes the ranks of this node sent and received in collectives."};
inline constexpr Description kCollectiveSeconds{"caravan_collective_seconds_total",
                                                "Time the ranks of this node spent in collectives."};

// Of every GPU that CUDA sees on this node, where its driver tells (label device; of the last one also
// reason).
inline constexpr Description kProcessorClock{"caravan_device_clock_hertz",
                                             "Clock of the device's processors."};
inline constexpr Description kMemoryClock{"caravan_device_memory_clock_hertz",
                                          "Clock of the device's memory."};
inline constexpr Description kPower{"caravan_device_power_watts", "Power that the device draws."};
inline constexpr Description kPowerLimit{"caravan_device_power_limit_watts",
                                         "Power at which the device lowers its clocks."};
inline constexpr Description kTemperature{"caravan_device_temperature_celsius", "Temperature of the device."};
inline constexpr Description kThrottled{"caravan_device_throttled",
                                        "1 while the reason keeps the device's clocks down, else 0."};

// Of the one rank of the job that speaks for its loss (label rank).
inline constexpr Description kLoss{"caravan_loss",
                                   "Training loss of the last step; NaN where it is not finite."};
inline constexpr Description kValidationLoss{"caravan_validation_loss", "Loss of the last evaluation."};
inline constexpr Description kGradientNorm{
    "caravan_grad_norm", "Global norm of the gradient before clipping; NaN where it is not finite."};
inline constexpr Description kLearningRate{"caravan_learning_rate", "Learning rate of the last step."};
inline constexpr Description kNonFiniteSteps{"caravan_nonfinite_steps_total",
                                             "Steps left out because loss or gradient was not finite."};
inline constexpr Description kPredictedMfu{"caravan_predicted_mfu_ratio",
                                           "Model FLOPs utilisation that the plan predicts."};
inline constexpr Description kStepDuration{"caravan_step_duration_seconds", "Duration of optimizer steps."};

// Where the job's first rank is.
inline constexpr Description kInterlude{
    "caravan_last_interlude_timestamp_seconds",
    "When an evaluation, or a wait for a checkpoint that is written or read, last began, in Unix time."};

// Of the job's checkpoints, where its first rank is.
inline constexpr Description kCheckpointDuration{"caravan_checkpoint_duration_seconds",
                                                 "From a checkpoint's step to its end, written or failed."};
inline constexpr Description kCheckpointInterval{"caravan_checkpoint_interval_seconds",
                                                 "Longest time from one checkpoint to the next, as meant."};
inline constexpr Description kCheckpointFailures{"caravan_checkpoint_failures_total",
                                                 "Checkpoints that could not be written."};
inline constexpr Description kCheckpointSuccess{"caravan_checkpoint_last_success_timestamp_seconds",
                                                "When the last checkpoint was complete."};
inline constexpr Description kCheckpointStep{"caravan_checkpoint_last_step",
                                             "Step of the last complete checkpoint."};
inline constexpr Description kCheckpointBytes{"caravan_checkpoint_bytes",
                                              "Size of the last complete checkpoint."};

}  // namespace caravan::agent::metric
