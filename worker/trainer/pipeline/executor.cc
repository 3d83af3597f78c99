#include "worker/trainer/pipeline/executor.h"

#include <fmt/format.h>

namespace caravan::trainer {
namespace {

using planner::Action;
using planner::ActionType;
using planner::Direction;

// Messages of both directions may have the same tag.
int wire_tag(const Action& action) {
  return 2 * action.tag + (action.direction == Direction::Gradients ? 1 : 0);
}

}  // namespace

void Executor::run(std::span<const Action> actions) {
  for (const Action& action : actions) run(action);
}

void Executor::run(const Action& action) {
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

void Executor::post_receive(const Action& action) {
  Message message{.tensor = work_.boundary_buffer(action.op), .transfer = {}};
  message.transfer = pipeline_.receive(message.tensor, action.peer, wire_tag(action));
  incoming_[{action.direction, action.tag}] = std::move(message);
}

// A transfer holds its tensor too, and the work frees its input as early as it can.
void Executor::await_receive(const Action& action) {
  Message message = std::move(incoming_.extract({action.direction, action.tag}).mapped());
  finish(message, action);
  input_ = std::move(message.tensor);
}

void Executor::start_send(const Action& action) {
  Message message{.tensor = std::exchange(made_, {}), .transfer = {}};
  message.transfer = pipeline_.send(message.tensor, action.peer, wire_tag(action));
  outgoing_[{action.direction, action.peer}].push_back(std::move(message));
}

void Executor::finish_send(const Action& action) {
  std::deque<Message>& messages = outgoing_.at({action.direction, action.peer});
  finish(messages.front(), action);
  messages.pop_front();
}

// A peer that is lost shows here: says what of the schedule did not come about.
void Executor::finish(Message& message, const Action& action) {
  try {
    message.transfer->wait();
  } catch (const CommunicationError& error) {
    const char* missing = action.type == ActionType::FinishSend ? "take the output of" : "send the input of";
    throw CommunicationError(fmt::format("waited for stage {} to {} {}: {}", action.peer, missing,
                                         planner::op_words(action.op), error.what()));
  }
}

}  // namespace caravan::trainer
