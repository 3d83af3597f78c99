#include "worker/trainer/loop/phase_clock.h"

#include <iterator>
#include <utility>

namespace caravan::trainer {
namespace {

// Out of the row; there are none to take then.
template <typename Element>
std::vector<Element> take_first(std::vector<Element>& row, std::ptrdiff_t& count) {
  const auto end = row.begin() + std::exchange(count, 0);
  std::vector<Element> taken(std::move_iterator(row.begin()), std::move_iterator(end));
  row.erase(row.begin(), end);
  return taken;
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

PhaseClock::PhaseClock(ActivityBoard& board, DeviceMarks* marks)
    : board_(board), marks_(marks), since_(now()) {}

PhaseClock::Scope::Scope(PhaseClock& clock, Phase phase) : clock_(clock), outer_(clock.current_) {
  if (!is_op(phase)) span_.emplace(SpanKind::Phase, phase_name(phase));
  begin_ = clock_.enter(phase, nullptr);
}

PhaseClock::Scope::Scope(PhaseClock& clock, const Wait& wait) : clock_(clock), outer_(clock.current_) {
  span_.emplace(SpanKind::Communication, wait.operation, wait.axis, wait.bytes, wait.peer);
  begin_ = clock_.enter(Phase::kCommunication, &wait);
}

PhaseClock::Scope::~Scope() {
  const Moment end = clock_.enter(outer_, nullptr);
  if (told_) clock_.tell(std::move(told_), begin_, end);
}

Moment PhaseClock::now() const {
  return {.host = Clock::now(), .device = marks_ == nullptr ? nullptr : marks_->mark()};
}

Moment PhaseClock::enter(Phase phase, const Wait* wait) {
  Moment moment = now();
  charge(moment);
  current_ = phase;
  Activity activity{.phase = std::string(phase_name(phase)), .since = moment.host};
  if (wait != nullptr) {
    activity.operation = wait->operation;
    activity.axis = std::string(wait->axis);
    activity.peer = wait->peer;
  }
  board_.show(std::move(activity));
  return moment;
}

void PhaseClock::charge(const Moment& now) {
  if (marks_ == nullptr) {
    seconds_[static_cast<std::size_t>(current_)] += seconds_between(since_, now);
  } else {
    pieces_.push_back({current_, since_, now});
  }
  since_ = now;
}

void PhaseClock::tell(Told told, const Moment& begin, const Moment& end) {
  if (marks_ == nullptr) return told(seconds_between(begin, end));
  listeners_.push_back({std::move(told), begin, end});
}

double PhaseClock::seconds_between(const Moment& begin, const Moment& end) const {
  if (marks_ != nullptr) return marks_->seconds_between(*begin.device, *end.device);
  return std::chrono::duration<double>(end.host - begin.host).count();
}

void PhaseClock::begin_steps() {
  enter(Phase::kIdle, nullptr);
  pieces_.clear();
  listeners_.clear();
  known_pieces_ = known_listeners_ = 0;
  seconds_ = {};
}

void PhaseClock::caught_up() {
  charge(now());
  known_pieces_ = std::ssize(pieces_);
  known_listeners_ = std::ssize(listeners_);
}

PhaseClock::Seconds PhaseClock::take() {
  charge(now());
  for (const Piece& piece : take_first(pieces_, known_pieces_))
    seconds_[static_cast<std::size_t>(piece.phase)] += seconds_between(piece.begin, piece.end);
  for (const Listener& listener : take_first(listeners_, known_listeners_))
    listener.told(seconds_between(listener.begin, listener.end));
  return std::exchange(seconds_, {});
}

}  // namespace caravan::trainer
