// Everything that one rank holds while it trains: its groups, parameters, optimizer and stage, its data, and
// the instruments that measure it. Built once, in order, each part charged to its category of the ledger.
//
// On the device "meta" parameters and states have sizes and no values: the rank takes no memory and cannot
// train, and all else is as on a real one (dry_run.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "common/result.h"
#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/comm/metered_communicator.h"
#include "worker/trainer/data/batch_reader.h"
#include "worker/trainer/loop/phase_clock.h"
#include "worker/trainer/loop/trainer_options.h"
#include "worker/trainer/memory/ledger.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/optim/gradient_sync.h"
#include "worker/trainer/optim/optimizer.h"

namespace caravan::trainer {

// Where a rank trains, beside the kernels. As it is: on the host, which does the work itself.
struct RankDevice {
  at::Device device = at::kCPU;
  DeviceMarks* marks = nullptr;
  // What its allocator holds, where that is not what tensors ask for.
  std::function<int64_t()> reserved_bytes = {};
};

struct Rank {
  // Meets the other ranks in groups that `groups` makes. Throws CommunicationError. All references outlive
  // the rank, as do marks.
  Rank(const TrainerOptions& options, MemoryLedger& ledger, ActivityBoard& board, GroupFactory groups,
       const RankDevice& where = {});

  const TrainerOptions& options;
  MemoryLedger& ledger;
  DeviceMarks* marks;
  std::function<int64_t()> reserved_bytes;
  PhaseClock clock;
  TransferMeter meter;
  GroupFactory groups;
  Mesh mesh;
  StagePlacement placement;
  at::ScalarType storage;
  at::Device device;
  ParameterStore parameters;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<GradientSums> gradient_sums;
  std::unique_ptr<Stage> stage;
};

// How this rank reads a token file.
BatchOptions batch_options(const TrainerOptions& options);

}  // namespace caravan::trainer
