// What all ranks must know of a step: added up along one axis of the mesh after the other, in rank order, so
// that every rank comes to the same conclusion. And what they must know of a checkpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "worker/trainer/comm/gather_rows.h"
#include "worker/trainer/comm/mesh.h"

namespace caravan::trainer {

inline constexpr int kNoStop = 2'147'483'647;

// How far a rank is with its part of what all of them do for a checkpoint.
enum class SaveProgress { Ended, UnderWay, Failed };

struct SaveShare {
  bool asks = false;  // of the first rank; the others' is not looked at
  SaveProgress progress = SaveProgress::Ended;
  int64_t done = 0;  // operations of this rank on the folder; told between steps only
};

struct SaveVerdict {
  bool asked = false;
  std::optional<int> under_way = std::nullopt;    // on that rank, the first one
  std::optional<int> failed_rank = std::nullopt;  // the first one
  int64_t done = 0;                               // by all ranks
};

// What one rank contributes; loss and squared norm such that everything counts once.
struct StepShare {
  double loss_sum = 0;
  double squared_gradient_norm = 0;
  int stop_after_step = kNoStop;
  SaveShare save = {};
};

struct StepVerdict {
  double loss_sum = 0;
  double gradient_norm = 0;
  int stop_after_step = kNoStop;  // the earliest that any rank was told
  SaveVerdict save = {};

  bool finite() const;
};

// The ranks of a stage tell each other what they contribute at once; what other stages do is under way until
// somebody waits for it. One at a time. The mesh outlives it.
class Agreement {
 public:
  Agreement(Mesh& mesh, const StepShare& share);

  StepVerdict wait();

 private:
  PendingRows<6> of_stages_;
};

// Between steps.
SaveVerdict agree_on_save(Communicator& world, const SaveShare& share);

// The largest that any rank has.
int largest(Communicator& world, int own);

// What the first rank has; the others' are not looked at.
std::vector<int> as_the_first(Communicator& world, const std::vector<int>& own);

}  // namespace caravan::trainer
