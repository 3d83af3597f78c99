// Everything that one rank holds while it trains: its groups, parameters, optimizer and stage, its data, and
// the instruments that measure it. Built once, in order, each part charged to its category of the ledger.
#pragma once

#include <memory>
#include <optional>

#include "common/result.h"
#include "worker/trainer/comm/gloo/gloo_rendezvous.h"
#include "worker/trainer/comm/mesh.h"
#include "worker/trainer/comm/metered_communicator.h"
#include "worker/trainer/data/batch_reader.h"
#include "worker/trainer/loop/phase_clock.h"
#include "worker/trainer/loop/trainer_options.h"
#include "worker/trainer/memory/ledger.h"
#include "worker/trainer/model/stage.h"
#include "worker/trainer/optim/optimizer.h"

namespace caravan::trainer {

struct Rank {
  // Meets the other ranks. Throws CommunicationError. All references outlive the rank.
  Rank(const TrainerOptions& options, MemoryLedger& ledger, ActivityBoard& board);

  const TrainerOptions& options;
  MemoryLedger& ledger;
  PhaseClock clock;
  TransferMeter meter;
  std::unique_ptr<GlooRendezvous> rendezvous;  // absent when there is nobody to meet
  Mesh mesh;
  StagePlacement placement;
  at::ScalarType storage;
  ParameterStore parameters;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Stage> stage;
};

// How this rank reads a token file.
BatchOptions batch_options(const TrainerOptions& options);

}  // namespace caravan::trainer
