#include "worker/trainer/loop/phase_clock.h"

#include <utility>

namespace caravan::trainer {
namespace {

double seconds_between(PhaseClock::Clock::time_point begin, PhaseClock::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

bool is_op(Phase phase) {
  return phase == Phase::kForward || phase == Phase::kBackward;
}

}  // namespace

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::kData:
      return "data";
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kCommunication:
      return "communication";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kEvaluation:
      return "evaluation";
    case Phase::kCheckpoint:
      return "checkpoint";
    case Phase::kIdle:
      return "idle";
    case Phase::kStart:
      return "start";
    case Phase::kRestore:
      return "restore";
  }
  return "";
}

PhaseClock::PhaseClock(ActivityBoard& board) : board_(board), since_(Clock::now()) {}

PhaseClock::Scope::Scope(PhaseClock& clock, Phase phase)
    : clock_(clock), outer_(clock.current_), begin_(Clock::now()) {
  if (!is_op(phase)) span_.emplace(SpanKind::Phase, phase_name(phase));
  clock_.enter(phase, nullptr);
}

PhaseClock::Scope::Scope(PhaseClock& clock, const Wait& wait)
    : clock_(clock), outer_(clock.current_), begin_(Clock::now()) {
  span_.emplace(SpanKind::Communication, wait.operation, wait.axis, wait.bytes, wait.peer);
  clock_.enter(Phase::kCommunication, &wait);
}

PhaseClock::Scope::~Scope() {
  clock_.enter(outer_, nullptr);
}

double PhaseClock::Scope::seconds() const {
  return seconds_between(begin_, Clock::now());
}

void PhaseClock::enter(Phase phase, const Wait* wait) {
  const Clock::time_point now = Clock::now();
  charge(now);
  current_ = phase;
  Activity activity{.phase = std::string(phase_name(phase)), .since = now};
  if (wait != nullptr) {
    activity.operation = wait->operation;
    activity.axis = std::string(wait->axis);
    activity.peer = wait->peer;
  }
  board_.show(std::move(activity));
}

void PhaseClock::charge(Clock::time_point now) {
  seconds_[static_cast<std::size_t>(current_)] += seconds_between(since_, now);
  since_ = now;
}

PhaseClock::Seconds PhaseClock::take() {
  charge(Clock::now());
  return std::exchange(seconds_, {});
}

}  // namespace caravan::trainer
