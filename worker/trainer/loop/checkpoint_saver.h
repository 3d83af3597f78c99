// Writes a job's checkpoints while training goes on.
//
// Training waits for a copy of the rank's part, no longer (Snapshot). The rest is done in stages, each on a
// thread of its own: the first rank makes the folder, all write their parts, the first rank commits, and
// removes what is left over. A stage begins when the agreement of a step says that the one before has ended
// on every rank of this attempt: so nothing is committed that one of them has not acknowledged, and what an
// earlier attempt or another run has under way loses its folder when this one begins (CheckpointLoader). Each
// stage of the first rank ends at once where another has taken the folder over (owner.h). One that fails
// anywhere is no checkpoint, is told, and costs nothing but its time: the checkpoints before stay.
//
// All ranks call the same functions after the same steps. Throws CommunicationError when a peer is lost.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "checkpoint/folder/commit.h"
#include "worker/trainer/checkpoint/snapshot.h"
#include "worker/trainer/loop/agreement.h"
#include "worker/trainer/loop/checkpoint_loader.h"
#include "worker/trainer/loop/interlude.h"
#include "worker/trainer/loop/save_interval.h"

namespace caravan::trainer {

class CheckpointSaver {
 public:
  // rank and reporter outlive the saver. Makes room for the copy. patience: of one that is due, with the one
  // before.
  CheckpointSaver(Rank& rank, const Reporter& reporter, Beginning beginning,
                  std::chrono::seconds patience = std::chrono::seconds(60));

  // What this rank says in the agreement of a step. asked: somebody wants a checkpoint now, by a request that
  // may come again (RankCommand.request): it is answered once.
  SaveShare share(int step, const std::optional<std::string>& asked);

  // After the step's update. A checkpoint that is due while the one before is still being written waits for
  // it, and is given up when patience ends. After a step that was skipped none is made, since its weights may
  // be ruined and would push good ones out of the folder: it follows the next step that was not. A failure if
  // ranks differ in weights that they share.
  Outcome after_step(const checkpoint::TrainingState& state, const SaveVerdict& verdict, bool skipped);

  // Until the state after the last step is saved. must: where that fails again and again, the job fails.
  // skipped: the last step was, so no older checkpoint goes for this one.
  Outcome finish(const checkpoint::TrainingState& state, bool must, bool skipped = false);

 private:
  using Clock = std::chrono::steady_clock;
  enum class Stage { None, Prepare, Write, Commit, Tidy };

  using Patience = std::optional<std::chrono::seconds>;  // absent: without an end
  void hear(const std::string& request);
  Outcome save_last(const checkpoint::TrainingState& state, bool must, bool skipped);
  Outcome save(const checkpoint::TrainingState& state, Patience patience);
  bool wait(Patience patience);
  bool wait_while_shown(Patience patience);
  static const char* work_of(Stage stage);
  void show_part();
  void end_part();
  void pause() const;
  void start(Stage stage);
  std::function<Status()> part_of(Stage stage);  // empty: this rank has none
  SaveProgress progress();
  void advance(const SaveVerdict& verdict);
  void conclude(std::optional<int> failed_rank);
  void give_up(int step, double waited, const std::string& request);
  void report(const CheckpointRecord& record) const;

  Rank& rank_;
  const CheckpointOptions& options_;
  const Reporter& reporter_;
  const std::chrono::seconds patience_;
  const checkpoint::FilePlan plan_;
  std::atomic<int64_t> done_ = 0;  // operations in the folder
  const std::unique_ptr<checkpoint::Volume> volume_;
  Snapshot snapshot_;

  checkpoint::SaveRequest request_;   // of the one that is written
  std::optional<std::string> asked_;  // by whom no save was begun for yet; empty: by nobody, it was due
  std::string answers_;               // the request that the save under way answers, or an empty one
  std::string answered_;              // the last one that a complete checkpoint has answered
  Stage stage_ = Stage::None;
  std::mutex showing_;      // what is shown of the part, and whether it runs
  bool part_runs_ = false;  // on its thread
  std::future<Status> task_;
  Status outcome_;  // of this rank's part
  bool written_ = false;
  bool keeps_all_ = false;  // none goes for the one that is written
  int saved_step_;          // of the newest that is complete

  const Clock::time_point start_ = Clock::now();
  Clock::time_point begun_ = start_;  // the one that is written
  Clock::time_point stage_begun_ = start_;
  Clock::time_point last_tried_ = start_;  // to begin one
  int slowest_rank_ = 0;                   // that was last seen at work on it
  Interlude interlude_;
  double stall_seconds_ = 0;
  std::optional<Clock::time_point> waits_since_;  // all that training does by now, and not told yet
  planner::SaveCost cost_;
};

}  // namespace caravan::trainer
