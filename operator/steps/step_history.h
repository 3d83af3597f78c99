// The steps that jobs reported, for whoever draws their curves. Safe for any thread.
//
// A job's latest samples are all kept; of those before, some, at equal distances over its whole length, and
// the longer it is the fewer of them. Those with a validation loss are a curve of their own, since there are
// few, and since they take longer than others; so are the first ones of later attempts, which tell when a job
// began anew. What all jobs keep together is bounded: the more jobs, the fewer samples each, also of those
// that report no more: with each sample the next job in turn is looked at.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/clock.h"
#include "operator/api/step_cursor.h"
#include "proto/caravan/v1alpha1/step_phases.h"

namespace caravan::v1alpha1 {
class JobStep;
class MetricsSample;
}  // namespace caravan::v1alpha1

namespace caravan::controller {

// Numbers of a step, small: an operator keeps many.
struct StepSample {
  static constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();

  StepCursor at;
  Clock::WallTime time{};
  std::int64_t peak_memory_bytes = 0;  // of the fullest device; 0: unknown
  float loss = 0;
  float validation_loss = kUnknown;  // there was no evaluation
  float gradient_norm = 0;
  float learning_rate = 0;
  float seconds = 0;
  float tokens_per_second = 0;
  float mfu = kUnknown;  // of 1
  std::array<float, kStepPhases.size()> phase_seconds = {};
  bool has_phases = false;
};
StepSample sample_of(const v1alpha1::JobStep& step, Clock::WallTime time);
void write_sample(const StepSample& sample, v1alpha1::MetricsSample& into);

class StepHistory {
 public:
  struct Limits {
    std::size_t samples = 750'000;    // of all jobs together, about
    std::size_t most_of_a_job = 768;  // a third of them are the latest
  };
  StepHistory() : StepHistory(Limits{}) {}
  explicit StepHistory(const Limits& limits) : limits_(limits) {}

  // False: it is not later than the last one.
  bool add(const std::string& job_uid, const StepSample& sample);
  // Those who follow the job hear of what was added.
  void tell(const std::string& job_uid);
  // The oldest first.
  std::vector<StepSample> after(const std::string& job_uid, StepCursor cursor, std::size_t most) const;
  // on_news may be called by any thread, until shortly after what is returned is gone; also for a job of
  // which nothing is known yet.
  std::shared_ptr<void> follow(const std::string& job_uid, std::function<void()> on_news);
  void forget(const std::string& job_uid);

 private:
  struct Curve {
    std::vector<StepSample> samples;  // one of each `stride` that were given
    std::uint64_t given = 0;
    std::uint64_t stride = 1;

    void add(const StepSample& sample);
    void thin_out(std::size_t most);
  };
  struct Series {
    Curve begun;  // before the latest, as the others
    Curve evaluated;
    Curve others;
    int attempt = 0;  // of the last one that is in a curve
    std::deque<StepSample> latest;
    StepCursor last = {};

    Curve& curve_of(const StepSample& sample);
  };
  void shorten(Series& series) const;
  void shorten_next();

  const Limits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Series> series_;
  std::string shortened_last_;
  std::multimap<std::string, std::weak_ptr<std::function<void()>>> followers_;
};

}  // namespace caravan::controller
