#include "worker/trainer/pipeline/executor.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <memory>
#include <utility>

namespace caravan::trainer {
namespace {

using planner::Action;
using planner::ActionType;
using planner::Direction;

// A tensor and its way over the wire.
struct Message {
  at::Tensor tensor;
  std::unique_ptr<PendingTransfer> transfer;
};

class Execution {
 public:
  Execution(StageWork& work, Communicator& pipeline) : work_(work), pipeline_(pipeline) {}

  void run(const Action& action) {
    switch (action.type) {
      case ActionType::PostReceive:
        return post_receive(action);
      case ActionType::FinishSend:
        return finish_send(action);
      case ActionType::AwaitReceive:
        return await_receive(action);
      case ActionType::Take:
        input_ = std::move(handed_over_.extract({action.direction, action.tag}).mapped());
        return;
      case ActionType::Compute:
        made_ = work_.run(action.op, std::exchange(input_, {}));
        return;
      case ActionType::StartSend:
        return start_send(action);
      case ActionType::HandOver:
        handed_over_[{action.direction, action.tag}] = std::exchange(made_, {});
        return;
    }
  }

 private:
  // Messages of both directions may have the same tag.
  static int wire_tag(const Action& action) {
    return 2 * action.tag + (action.direction == Direction::Gradients ? 1 : 0);
  }

  void post_receive(const Action& action) {
    Message message{.tensor = work_.boundary_buffer(action.op), .transfer = {}};
    message.transfer = pipeline_.receive(message.tensor, action.peer, wire_tag(action));
    incoming_[{action.direction, action.tag}] = std::move(message);
  }

  // A transfer holds its tensor too, and the work frees its input as early as it can.
  void await_receive(const Action& action) {
    Message message = std::move(incoming_.extract({action.direction, action.tag}).mapped());
    finish(message, action);
    input_ = std::move(message.tensor);
  }

  void start_send(const Action& action) {
    Message message{.tensor = std::exchange(made_, {}), .transfer = {}};
    message.transfer = pipeline_.send(message.tensor, action.peer, wire_tag(action));
    outgoing_[{action.direction, action.peer}].push_back(std::move(message));
  }

  void finish_send(const Action& action) {
    std::deque<Message>& messages = outgoing_.at({action.direction, action.peer});
    finish(messages.front(), action);
    messages.pop_front();
  }

  // A peer that is lost shows here: says what of the schedule did not come about.
  static void finish(Message& message, const Action& action) {
    try {
      message.transfer->wait();
    } catch (const CommunicationError& error) {
      const char* missing =
          action.type == ActionType::FinishSend ? "take the output of" : "send the input of";
      throw CommunicationError(fmt::format("waited for stage {} to {} {}: {}", action.peer, missing,
                                           planner::op_words(action.op), error.what()));
    }
  }

  StageWork& work_;
  Communicator& pipeline_;
  std::map<std::pair<Direction, int>, Message> incoming_;              // by tag
  at::Tensor input_;                                                   // of the next op
  at::Tensor made_;                                                    // by the last op
  std::map<std::pair<Direction, int>, std::deque<Message>> outgoing_;  // by peer
  std::map<std::pair<Direction, int>, at::Tensor> handed_over_;        // by tag
};

}  // namespace

void execute(const std::vector<planner::Action>& actions, StageWork& work, Communicator& pipeline) {
  Execution execution(work, pipeline);
  for (const Action& action : actions) execution.run(action);
}

}  // namespace caravan::trainer
