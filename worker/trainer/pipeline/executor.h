// Runs an op list with its transfers on one stage. Knows neither the schedule that made the list nor the
// model.
//
// Memory besides what the work keeps: a boundary tensor for each send under way, for what one group of layers
// handed over to the next one on this stage, and for what the next op receives, from when it is asked for
// (planner/schedule/transfers.h). All sends are done when the last action is. Throws what the communicator
// and the work throw; an error of a transfer says which op it was for.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "planner/schedule/transfers.h"
#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/pipeline/stage_work.h"

namespace caravan::trainer {

class Executor {
 public:
  Executor(StageWork& work, Communicator& pipeline) : work_(work), pipeline_(pipeline) {}

  // The next ones of a list, in any number of parts.
  void run(std::span<const planner::Action> actions);

 private:
  // A tensor and its way over the wire.
  struct Message {
    at::Tensor tensor;
    std::unique_ptr<PendingTransfer> transfer;
  };

  void run(const planner::Action& action);
  void post_receive(const planner::Action& action);
  void await_receive(const planner::Action& action);
  void start_send(const planner::Action& action);
  void finish_send(const planner::Action& action);
  static void finish(Message& message, const planner::Action& action);

  StageWork& work_;
  Communicator& pipeline_;
  std::map<std::pair<planner::Direction, int>, Message> incoming_;              // by tag
  at::Tensor input_;                                                            // of the next op
  at::Tensor made_;                                                             // by the last op
  std::map<std::pair<planner::Direction, int>, std::deque<Message>> outgoing_;  // by peer
  std::map<std::pair<planner::Direction, int>, at::Tensor> handed_over_;        // by tag
};

// All of a list.
inline void execute(std::span<const planner::Action> actions, StageWork& work, Communicator& pipeline) {
  Executor(work, pipeline).run(actions);
}

}  // namespace caravan::trainer
