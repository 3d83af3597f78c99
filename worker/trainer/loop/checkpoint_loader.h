// Where training begins: behind the newest checkpoint of the job's folder that is intact and can be read, or
// at its beginning.
//
// All ranks come to the same conclusion, by exchanges over the world. Throws CommunicationError when a peer
// is lost.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
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
#include "worker/trainer/loop/joint_work.h"
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

using OpenFolder = std::function<Result<std::unique_ptr<checkpoint::Volume>>(const std::string& path)>;

class CheckpointLoader {
 public:
  // rank and reporter outlive the loader. open: the job's folder of checkpoints. between: announcements that
  // it still reads. pause: before a checkpoint that its volume failed to give, or does not show the first
  // rank, is looked for again, and ten times as long before it is once more.
  CheckpointLoader(Rank& rank, const Reporter& reporter, OpenFolder open = checkpoint::make_volume,
                   std::chrono::nanoseconds between = kBetweenMeetings,
                   std::chrono::milliseconds pause = std::chrono::seconds(1));

  // Fills the rank with the newest intact checkpoint and says where it stands. Where there is none this is
  // step 0, with the weights of init_from, or those that the rank was made with. A job that it does not fit,
  // a folder in which none will do, that a node cannot list, or of which another node sees a newer one than
  // the first rank does, is a failure that says what to do; where it is one rank of several that finds them
  // damaged, as likely by its machine, that one fails of SilentCorruption, which suspects the machine, and
  // the next attempt may read them. Then the folder is this attempt's (owner.h): one that was committed
  // meanwhile is gone on from, damaged ones that are newer are set aside, and what earlier attempts left
  // unfinished is removed. may_begin: what refuses a job that would begin anew.
  Resumed resume(Status may_begin = {});

 private:
  // What is worst on any rank counts for all.
  enum class Load : int { Done, Damaged, Failing, Unseen, Refused };

  struct Listing {
    std::vector<int> steps;  // newest first, as the first rank sees them
    int newest = 0;          // that any rank sees; 0: none
    int rank = 0;            // that sees it
    bool lacks_newest() const;
  };

  using Listed = tl::expected<Listing, TrainingFailure>;
  using Steps = tl::expected<std::vector<int>, TrainingFailure>;

  Outcome find_beginning();
  Outcome go_on();
  Outcome begin();
  bool sees(int step) const;
  JointWork reading_before(int step);
  Status read_initial_weights(JointWork& reading);
  Status read_tokenizer(checkpoint::WeightsFolder& from);
  Steps list_steps();
  Listed list_together();
  Result<std::vector<int>> list_own();
  Outcome resume_from(const std::vector<int>& steps);
  Outcome cannot_read_now(int step) const;
  Outcome none_is_intact(std::size_t count) const;
  Load load_together(int step);
  Load load_patiently(int step);
  void wait_for_volume(int delayed_step, std::chrono::milliseconds pause) const;
  Load load(int step, JointWork& reading);
  Outcome own();
  Status take_over();
  Outcome resume_newer();
  Status tidy();
  Status read_all(checkpoint::Checkpoint& from, JointWork& reading);
  std::string refusal_of(const checkpoint::Checkpoint& from) const;

  bool everywhere(const Status& own);
  void report(const CheckpointRecord& record) const;  // of the first rank
  std::string why() const;

  Rank& rank_;
  const CheckpointOptions& options_;
  const Reporter& reporter_;
  const OpenFolder open_;
  const std::chrono::nanoseconds between_;
  const std::array<std::chrono::milliseconds, 2> pauses_;
  const checkpoint::FilePlan plan_;
  Beginning beginning_;
  Status may_begin_;
  std::vector<int> damaged_;   // steps of checkpoints
  std::vector<int> failing_;   // likewise, of which the volume did not give what was asked for
  bool finds_damage_ = false;  // this rank
  std::string refusal_;
  std::string trouble_;  // of this rank, with the checkpoint at hand
};

}  // namespace caravan::trainer
