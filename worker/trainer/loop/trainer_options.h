// What one rank is asked to do: RankConfig, checked and in plain types, so that it can stand beside
// LibTorch's headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/layout.h"
#include "planner/model/shape.h"
#include "worker/trainer/comm/rendezvous_options.h"
#include "worker/trainer/optim/optimizer_options.h"

namespace caravan::trainer {

enum class Precision { BF16, FP32, FP64 };  // FP64: to compare layouts by

enum class DeviceKind { Cpu, Gpu };

struct DataOptions {
  std::string path;
  std::string validation_path;
  int64_t sequence_length = 0;
  int64_t global_batch_sequences = 0;
  uint64_t seed = 1;
};

struct EvaluationOptions {
  int every_steps = 0;  // 0: never
  int batches = 8;      // global batches each time
};

struct CheckpointOptions {
  std::string path;  // of the folder; empty: none are written or read
  // And after the last step; at most one of the two, and without: save_interval.h.
  std::optional<int> every_steps = std::nullopt;
  std::optional<int> every_seconds = std::nullopt;
  int keep_last = 1;
  bool resumes = true;  // from any run's checkpoints; else from its own alone
};

struct TrainerOptions {
  std::string job_name;
  std::string job_uid;  // empty: started by hand
  RendezvousOptions rendezvous;
  planner::ModelShape model;
  planner::Layout layout;
  planner::Schedule schedule;  // of one step, of all stages
  Precision precision = Precision::BF16;
  DeviceKind device = DeviceKind::Cpu;
  std::optional<int64_t> tensor_bytes = std::nullopt;  // that the device has for them; absent: nobody knows
  int local_rank = 0;                                  // among the ranks of its node
  int steps = 0;
  DataOptions data;
  EvaluationOptions evaluation;
  OptimizerOptions optimizer;
  CheckpointOptions checkpoint;
  std::string init_from;  // folder with the weights to begin with; empty: random ones
  int threads = 1;
  int report_fd = -1;   // -1: standard output
  int command_fd = -1;  // -1: no commands
  std::string gradient_dump_directory;
  std::string trace_directory;  // empty: no trace is written

  int64_t micro_batches() const {
    return data.global_batch_sequences / (int64_t{layout.mesh.data} * layout.micro_batch_size);
  }
};

}  // namespace caravan::trainer
