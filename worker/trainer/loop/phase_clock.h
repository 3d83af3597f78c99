// Where the time of a step goes. One phase runs at a time: a scope inside another one stops the outer phase's
// time until it ends, so the phases add up to the time measured. What no scope covers is idle.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

namespace caravan::trainer {

enum class Phase { kData, kForward, kBackward, kCommunication, kOptimizer, kEvaluation, kCheckpoint, kIdle };
inline constexpr std::size_t kPhases = 8;

// The names of StepReport.phase_seconds.
std::string_view phase_name(Phase phase);

class PhaseClock {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::array<double, kPhases>;

  PhaseClock();

  class Scope {
   public:
    Scope(PhaseClock& clock, Phase phase);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // Since the scope began.
    double seconds() const;

   private:
    PhaseClock& clock_;
    Phase outer_;
    Clock::time_point begin_;
  };

  // Seconds by phase since the last take().
  Seconds take();

 private:
  void enter(Phase phase);

  Seconds seconds_{};
  Phase current_ = Phase::kIdle;
  Clock::time_point since_;
};

}  // namespace caravan::trainer
