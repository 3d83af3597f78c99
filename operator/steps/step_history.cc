#include "operator/steps/step_history.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "caravan/v1alpha1/coordination.pb.h"
#include "caravan/v1alpha1/metrics.pb.h"
#include "kube/api/timestamp.h"

namespace caravan::controller {

StepSample sample_of(const v1alpha1::JobStep& step, Clock::WallTime time) {
  const auto& peaks = step.peak_bytes_per_rank();
  StepSample sample{.at = {step.attempt(), step.step()},
                    .time = time,
                    .peak_memory_bytes = peaks.empty() ? 0 : *std::ranges::max_element(peaks),
                    .loss = static_cast<float>(step.loss()),
                    .validation_loss = step.has_validation_loss() ? static_cast<float>(step.validation_loss())
                                                                  : StepSample::kUnknown,
                    .gradient_norm = static_cast<float>(step.gradient_norm()),
                    .learning_rate = static_cast<float>(step.learning_rate()),
                    .seconds = static_cast<float>(step.seconds()),
                    .tokens_per_second = static_cast<float>(step.tokens_per_second()),
                    .mfu = step.has_mfu() ? static_cast<float>(step.mfu()) : StepSample::kUnknown,
                    .has_phases = step.has_phase_seconds()};
  std::ranges::transform(kStepPhases, sample.phase_seconds.begin(), [&](const StepPhase& phase) {
    return static_cast<float>((step.phase_seconds().*phase.get)());
  });
  return sample;
}

void write_sample(const StepSample& sample, v1alpha1::MetricsSample& into) {
  into.set_attempt(sample.at.attempt);
  into.set_step(sample.at.step);
  into.set_time(kube::to_timestamp(sample.time));
  into.set_loss(sample.loss);
  if (!std::isnan(sample.validation_loss)) into.set_validation_loss(sample.validation_loss);
  into.set_gradient_norm(sample.gradient_norm);
  into.set_learning_rate(sample.learning_rate);
  into.set_seconds(sample.seconds);
  into.set_tokens_per_second(sample.tokens_per_second);
  if (!std::isnan(sample.mfu)) into.set_mfu(sample.mfu);
  into.set_peak_memory_bytes(sample.peak_memory_bytes);
  if (!sample.has_phases) return;
  for (std::size_t i = 0; i < kStepPhases.size(); ++i)
    (into.mutable_phase_seconds()->*kStepPhases[i].set)(sample.phase_seconds[i]);
}

bool StepHistory::add(const std::string& job_uid, const StepSample& sample) {
  const std::scoped_lock lock(mutex_);
  Series& series = series_[job_uid];
  if (sample.at <= series.last) return false;
  series.last = sample.at;
  series.latest.push_back(sample);
  shorten(series);
  shorten_next();
  return true;
}

void StepHistory::shorten_next() {
  auto next = series_.upper_bound(shortened_last_);
  if (next == series_.end()) next = series_.begin();
  shorten(next->second);
  shortened_last_ = next->first;
}

void StepHistory::shorten(Series& series) const {
  const std::size_t most = std::min(limits_.samples / series_.size(), limits_.most_of_a_job);
  const std::size_t most_of_curves = most - most / 3;
  while (series.latest.size() > most / 3) {
    const StepSample& oldest = series.latest.front();
    series.curve_of(oldest).add(oldest);
    series.latest.pop_front();
  }
  series.begun.thin_out(most_of_curves / 4);
  series.evaluated.thin_out(most_of_curves / 2);
  const std::size_t kept = series.begun.samples.size() + series.evaluated.samples.size();
  series.others.thin_out(most_of_curves - std::min(kept, most_of_curves));
}

StepHistory::Curve& StepHistory::Series::curve_of(const StepSample& sample) {
  const int before = std::exchange(attempt, sample.at.attempt);
  if (before != 0 && before != sample.at.attempt) return begun;
  return std::isnan(sample.validation_loss) ? others : evaluated;
}

void StepHistory::Curve::add(const StepSample& sample) {
  if (given++ % stride == 0) samples.push_back(sample);
}

// Every other one goes, the first stays.
void StepHistory::Curve::thin_out(std::size_t most) {
  while (samples.size() > std::max<std::size_t>(most, 1)) {
    for (std::size_t i = 0; 2 * i < samples.size(); ++i) samples[i] = samples[2 * i];
    samples.resize((samples.size() + 1) / 2);
    samples.shrink_to_fit();
    stride *= 2;
  }
}

void StepHistory::tell(const std::string& job_uid) {
  std::vector<std::shared_ptr<std::function<void()>>> told;
  {
    const std::scoped_lock lock(mutex_);
    const auto [first, last] = followers_.equal_range(job_uid);
    for (auto it = first; it != last; ++it) told.push_back(it->second.lock());
  }
  for (const auto& on_news : told) {
    if (on_news) (*on_news)();
  }
}

std::vector<StepSample> StepHistory::after(const std::string& job_uid, StepCursor cursor,
                                           std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  std::vector<StepSample> samples;
  const auto found = series_.find(job_uid);
  if (found == series_.end()) return samples;
  const auto add_from = [&](const auto& source) {
    const auto known = static_cast<std::ptrdiff_t>(samples.size());
    samples.insert(samples.end(), std::ranges::upper_bound(source, cursor, {}, &StepSample::at),
                   source.end());
    std::ranges::inplace_merge(samples, samples.begin() + known, {}, &StepSample::at);
  };
  add_from(found->second.others.samples);
  add_from(found->second.evaluated.samples);
  add_from(found->second.begun.samples);
  add_from(found->second.latest);
  if (samples.size() > most) samples.resize(most);
  return samples;
}

std::shared_ptr<void> StepHistory::follow(const std::string& job_uid, std::function<void()> on_news) {
  const std::scoped_lock lock(mutex_);
  auto kept = std::make_shared<std::function<void()>>(std::move(on_news));
  const auto place = followers_.emplace(job_uid, kept);
  return std::shared_ptr<void>(nullptr, [this, place, kept = std::move(kept)](void*) mutable {
    const std::scoped_lock ending(mutex_);
    followers_.erase(place);
  });
}

void StepHistory::forget(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  series_.erase(job_uid);
}

}  // namespace caravan::controller
