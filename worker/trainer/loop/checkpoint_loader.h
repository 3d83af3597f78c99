// Where training begins: behind the newest checkpoint of the job's folder that is intact, or at its
// beginning.
//
// All ranks come to the same conclusion, by exchanges over the world. Throws CommunicationError when a peer
// is lost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/folder/checkpoint.h"
#include "checkpoint/folder/copied_file.h"
#include "checkpoint/folder/owner.h"
#include "checkpoint/folder/volume.h"
#include "checkpoint/folder/weights_folder.h"
#include "checkpoint/format/training_state.h"
#include "worker/trainer/loop/failure.h"
#include "worker/trainer/loop/rank.h"
#include "worker/trainer/loop/reporter.h"

namespace caravan::trainer {

struct Beginning {
  checkpoint::TrainingState state;  // after the last step that was saved; step 0: nothing was
  planner::ModelShape model;        // for how many positions, is said by what was read
  // Of what was read, on the first rank, to be passed on; within what is kept free for the process itself.
  std::vector<checkpoint::CopiedFile> tokenizer;
  std::unique_ptr<checkpoint::Volume> volume;  // the job's folder; absent where it has none
  checkpoint::Owner owner = {};                // this attempt, with the folder's number on the first rank
  std::string answered_request = {};           // the last one, by what was read
};
using Resumed = tl::expected<Beginning, TrainingFailure>;

class CheckpointLoader {
 public:
  // rank and reporter outlive the loader.
  CheckpointLoader(Rank& rank, const Reporter& reporter);

  // Fills the rank with the newest intact checkpoint and says where it stands. Where there is none this is
  // step 0, with the weights of init_from, or those that the rank was made with. One that is damaged is told,
  // and set aside when an older one has done; a job that it does not fit, or a folder in which none is
  // intact, is a failure that says what to do. Then the folder is this attempt's (owner.h), and what earlier
  // ones left unfinished is removed.
  Resumed resume();

 private:
  enum class Load : int { Done, Damaged, Unreadable, Refused };

  Outcome go_on();
  Outcome begin();
  Status read_initial_weights();
  Status read_tokenizer(checkpoint::WeightsFolder& from);
  bool begins_anew() const;
  Result<std::vector<int>> list_steps();
  Outcome resume_from(const std::vector<int>& steps);
  Load load(int step);
  Outcome own();
  Status take_over();
  Status read_all(checkpoint::Checkpoint& from);
  std::string refusal_of(const checkpoint::Checkpoint& from) const;
  void leave(int step);

  bool everywhere(const Status& own);
  void report(const CheckpointRecord& record) const;  // of the first rank
  std::string why() const;

  Rank& rank_;
  const CheckpointOptions& options_;
  const Reporter& reporter_;
  const checkpoint::FilePlan plan_;
  Beginning beginning_;
  std::string refusal_;
  std::string trouble_;  // of this rank, with the checkpoint at hand
};

}  // namespace caravan::trainer
