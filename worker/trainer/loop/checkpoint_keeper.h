// Keeps a job's checkpoints: goes on from the newest that is intact, or begins with the weights that the job
// names, and writes new ones.
//
// All ranks call the same functions after the same steps and come to the same conclusion, by exchanges over
// the world. A save that fails anywhere is no checkpoint, is told, and costs nothing but its time: training
// goes on and the checkpoints before stay. Throws CommunicationError when a peer is lost.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "checkpoint/folder/commit.h"
#include "checkpoint/folder/volume.h"
#include "checkpoint/format/training_state.h"
#include "worker/trainer/checkpoint/rank_state.h"
#include "worker/trainer/loop/failure.h"
#include "worker/trainer/loop/rank.h"
#include "worker/trainer/loop/reporter.h"

namespace caravan::trainer {

using Resumed = tl::expected<checkpoint::TrainingState, TrainingFailure>;

class CheckpointKeeper {
 public:
  // rank and reporter outlive the keeper. Without a folder in its options nothing is read or written.
  CheckpointKeeper(Rank& rank, const Reporter& reporter);

  // Fills the rank with the newest intact checkpoint and says where it stands. Where there is none this is
  // step 0, with the weights of init_from, or those that the rank was made with. One that is damaged is told,
  // and set aside when an older one has done; a job that it does not fit, or a folder in which none is
  // intact, is a failure that says what to do.
  Resumed resume();

  // After each step, `last` after the job's last one.
  void save_if_due(int step, int64_t samples, bool last);

 private:
  enum class Load : int { Done, Damaged, Unreadable, Refused };

  Resumed go_on();
  Resumed begin();
  Status read_initial_weights();
  Resumed resume_from(const std::vector<int>& steps);
  Load load(int step);
  std::string refusal_of(const checkpoint::Checkpoint& from) const;
  void leave(int step);

  void save(const checkpoint::TrainingState& state);
  bool on_first_rank(const std::function<Status()>& action);
  bool everywhere(const Status& own);
  void tell(const std::string& level, const std::string& message) const;
  void report(const CheckpointRecord& record) const;  // of the first rank
  std::string why() const;

  checkpoint::SaveRequest request_of(const checkpoint::TrainingState& state) const;
  RankState own_state() const;
  bool is_first() const;

  Rank& rank_;
  const CheckpointOptions& options_;
  planner::ModelShape model_;  // for how many positions, is said by what was read
  const Reporter& reporter_;
  std::unique_ptr<checkpoint::Volume> volume_;
  std::optional<checkpoint::FilePlan> plan_;
  checkpoint::TrainingState resumed_;
  std::string refusal_;
  std::string trouble_;  // of this rank, with the checkpoint at hand
  int saved_step_ = 0;
};

}  // namespace caravan::trainer
