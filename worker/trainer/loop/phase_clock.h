// Where the time of a step goes. One phase runs at a time: a scope inside another one stops the outer phase's
// time until it ends, so the phases add up to the time measured. What no scope covers is idle.
//
// Which phase runs, and which other ranks it waits for, is shown on a board that other threads may read. Of a
// step that is traced, each scope is a span, but for forwards and backwards, which are the ops of the trace.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "worker/trainer/loop/activity.h"
#include "worker/trainer/trace/span.h"

namespace caravan::trainer {

// Those of a step come first.
enum class Phase {
  kData,
  kForward,
  kBackward,
  kCommunication,
  kOptimizer,
  kEvaluation,
  kCheckpoint,
  kIdle,
  kStart,
  kRestore
};
inline constexpr std::size_t kPhases = 8;  // of a step
inline constexpr std::size_t kAllPhases = 10;

// The names of StepReport.phase_seconds and RankActivity.phase.
std::string_view phase_name(Phase phase);

// For other ranks, in a collective.
struct Wait {
  const char* operation;
  std::string_view axis;
  std::optional<int> peer = {};
  int64_t bytes = 0;  // on this rank
};

class PhaseClock {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::array<double, kAllPhases>;

  // The board outlives the clock. The phase is kStart until begin_steps().
  explicit PhaseClock(ActivityBoard& board);

  class Scope {
   public:
    Scope(PhaseClock& clock, Phase phase);
    // Of phase kCommunication.
    Scope(PhaseClock& clock, const Wait& wait);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // Since the scope began.
    double seconds() const;

   private:
    PhaseClock& clock_;
    Phase outer_;
    Clock::time_point begin_;
    std::optional<TraceSpan> span_;
  };

  void begin_steps() { enter(Phase::kIdle, nullptr); }
  // What another thread does that this one waits for; see ActivityBoard.
  void show_saving(std::optional<Saving> saving) { board_.show_saving(std::move(saving)); }
  // Seconds by phase since the last take().
  Seconds take();

 private:
  void enter(Phase phase, const Wait* wait);
  void charge(Clock::time_point now);

  ActivityBoard& board_;
  Seconds seconds_{};
  Phase current_ = Phase::kStart;
  Clock::time_point since_;
};

}  // namespace caravan::trainer
