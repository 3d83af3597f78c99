// Where the time of a step goes. One phase runs at a time: a scope inside another one stops the outer phase's
// time until it ends, so the phases add up to the time measured. What no scope covers is idle.
//
// Where work is given to a device that the host does not wait for, phases are timed by the device: a mark
// stands between two of them. What lay between is told by the first take() behind a caught_up(), so that
// nothing here waits for the device: what it has yet to come to is told with the next step.
//
// Which phase runs, and which other ranks it waits for, is shown on a board that other threads may read. Of a
// step that is traced, each scope is a span, but for forwards and backwards, which are the ops of the trace.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/trainer/loop/activity.h"
#include "worker/trainer/trace/device_marks.h"
#include "worker/trainer/trace/span.h"
#include "worker/trainer/trace/trace_clock.h"

namespace caravan::trainer {

// Those of a step come first, in the order of PhaseSeconds.
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

// Of PhaseSeconds, which has the phases of a step under these names, and of RankActivity.phase. Said again
// here, since what a device's library takes may know no messages.
std::string_view phase_name(Phase phase);

// For other ranks, in a collective, or for a device that waits for them.
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

  // The board outlives the clock, as do marks; none where the host itself does the work. The phase is kStart
  // until begin_steps().
  explicit PhaseClock(ActivityBoard& board, DeviceMarks* marks = nullptr);

  using Told = std::function<void(double seconds)>;

  class Scope {
   public:
    Scope(PhaseClock& clock, Phase phase);
    // Of phase kCommunication.
    Scope(PhaseClock& clock, const Wait& wait);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // Told how long the scope took, other scopes within it included, when that is known.
    void tell(Told told) { told_ = std::move(told); }

   private:
    PhaseClock& clock_;
    Phase outer_;
    Moment begin_;
    Told told_;
    std::optional<TraceSpan> span_;
  };

  // What came before is of no step.
  void begin_steps();
  // What another thread does that this one waits for; see ActivityBoard.
  void show_saving(std::optional<Saving> saving) { board_.show_saving(std::move(saving)); }
  // The device has come to all that it was given: the host has just read what it made.
  void caught_up();
  // Seconds by phase since the last take().
  Seconds take();

 private:
  struct Piece {
    Phase phase;
    Moment begin;
    Moment end;
  };
  struct Listener {
    Told told;
    Moment begin;
    Moment end;
  };

  Moment now() const;
  Moment enter(Phase phase, const Wait* wait);
  void charge(const Moment& now);
  void tell(Told told, const Moment& begin, const Moment& end);
  double seconds_between(const Moment& begin, const Moment& end) const;

  ActivityBoard& board_;
  DeviceMarks* const marks_;
  Seconds seconds_{};
  Phase current_ = Phase::kStart;
  Moment since_;
  // Of a device, in the order of time; it has come to the first so many.
  std::vector<Piece> pieces_;
  std::vector<Listener> listeners_;
  std::ptrdiff_t known_pieces_ = 0;
  std::ptrdiff_t known_listeners_ = 0;
};

}  // namespace caravan::trainer
