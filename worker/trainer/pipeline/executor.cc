#include "worker/trainer/pipeline/executor.h"

#include <array>
#include <memory>
#include <utility>

namespace caravan::trainer {
namespace {

using planner::Op;
using planner::OpType;

// A tensor and its way over the wire.
struct Message {
  at::Tensor tensor;
  std::unique_ptr<PendingTransfer> transfer;
};

class Execution {
 public:
  Execution(StageWork& work, Communicator& pipeline) : work_(work), pipeline_(pipeline) {}

  void run(const Action& action) {
    const auto direction = static_cast<std::size_t>(action.direction);
    switch (action.type) {
      case ActionType::PostReceive:
        return post_receive(action, incoming_[direction]);
      case ActionType::AwaitReceive:
        incoming_[direction].transfer->wait();
        incoming_[direction].transfer.reset();  // it holds the tensor too
        return;
      case ActionType::FinishSend:
        return finish_send(outgoing_[direction]);
      case ActionType::Compute:
        made_ = compute(action.op, std::exchange(incoming_[direction], {}).tensor);
        return;
      case ActionType::StartSend:
        return start_send(action, outgoing_[direction]);
    }
  }

 private:
  void post_receive(const Action& action, Message& message) {
    message.tensor = work_.boundary_buffer();
    message.transfer = pipeline_.receive(message.tensor, action.peer, action.tag);
  }

  static void finish_send(Message& message) {
    if (message.transfer) message.transfer->wait();
    message = {};
  }

  void start_send(const Action& action, Message& message) {
    message.tensor = std::exchange(made_, {});
    message.transfer = pipeline_.send(message.tensor, action.peer, action.tag);
  }

  at::Tensor compute(const Op& op, at::Tensor input) {
    switch (op.type) {
      case OpType::Forward:
        return work_.forward(op.micro_batch, std::move(input));
      case OpType::Backward:
        return work_.backward(op.micro_batch, std::move(input));
      case OpType::BackwardInput:
        return work_.backward_input(op.micro_batch, std::move(input));
      case OpType::BackwardWeight:
        work_.backward_weight(op.micro_batch);
        return {};
    }
    return {};
  }

  StageWork& work_;
  Communicator& pipeline_;
  std::array<Message, 2> incoming_;  // by direction
  std::array<Message, 2> outgoing_;
  at::Tensor made_;
};

}  // namespace

void execute(const std::vector<Action>& actions, StageWork& work, Communicator& pipeline) {
  Execution execution(work, pipeline);
  for (const Action& action : actions) execution.run(action);
}

}  // namespace caravan::trainer
