#include "worker/trainer/loop/phase_clock.h"

#include <utility>

namespace caravan::trainer {
namespace {

double seconds_between(PhaseClock::Clock::time_point begin, PhaseClock::Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
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
  }
  return "";
}

PhaseClock::PhaseClock() : since_(Clock::now()) {}

PhaseClock::Scope::Scope(PhaseClock& clock, Phase phase)
    : clock_(clock), outer_(clock.current_), begin_(Clock::now()) {
  clock_.enter(phase);
}

PhaseClock::Scope::~Scope() {
  clock_.enter(outer_);
}

double PhaseClock::Scope::seconds() const {
  return seconds_between(begin_, Clock::now());
}

void PhaseClock::enter(Phase phase) {
  const Clock::time_point now = Clock::now();
  seconds_[static_cast<std::size_t>(current_)] += seconds_between(since_, now);
  since_ = now;
  current_ = phase;
}

PhaseClock::Seconds PhaseClock::take() {
  enter(current_);
  return std::exchange(seconds_, {});
}

}  // namespace caravan::trainer
