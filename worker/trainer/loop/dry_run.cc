#include "worker/trainer/loop/dry_run.h"

#include <optional>
#include <utility>

#include "worker/trainer/checkpoint/snapshot.h"
#include "worker/trainer/comm/absent_groups.h"
#include "worker/trainer/loop/checkpoint_terms.h"
#include "worker/trainer/loop/trainer.h"

namespace caravan::trainer {

Result<planner::MemoryTerms> dry_run(const TrainerOptions& options) {
  Result<RankData> data = open_data(options);
  if (!data) return tl::unexpected(data.error());
  MemoryLedger ledger;
  const CountingAllocator allocator(ledger.counter(MemoryUse::Activations));
  const CountingMetaAllocator meta_allocator(ledger.counter(MemoryUse::Activations));
  const LedgerScope count(ledger);
  ActivityBoard board;
  const Reporter reporter(options.report_fd);
  const CommandListener commands(/*fd=*/-1, board, reporter);
  Rank rank(options, ledger, board, absent_groups(), {.device = at::kMeta});
  const Trainer trainer(rank, *std::move(data), reporter, commands);
  std::optional<Snapshot> snapshot;
  if (!options.checkpoint.path.empty()) {
    const DataShard slice{.rank = rank.mesh.position.data, .size = rank.mesh.shape.data};
    snapshot.emplace(state_of(rank), slice);
  }
  return ledger.live();
}

}  // namespace caravan::trainer
