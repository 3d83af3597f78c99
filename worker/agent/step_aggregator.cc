#include "worker/agent/step_aggregator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "proto/caravan/v1alpha1/step_phases.h"

namespace caravan::agent {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

void add_to(v1alpha1::PhaseSeconds& sums, const StepPhase& phase, double seconds) {
  (sums.*phase.set)((sums.*phase.get)() + seconds);
}

// What is not a number stays, unlike with std::max.
double larger(double one, double other) {
  return std::isnan(other) || other > one ? other : one;
}

}  // namespace

double loss_of(const v1alpha1::StepReport& report) {
  return report.has_loss() ? report.loss() : kNotANumber;
}

double gradient_norm_of(const v1alpha1::StepReport& report) {
  return report.has_gradient_norm() ? report.gradient_norm() : kNotANumber;
}

StepAggregator::OpenStep& StepAggregator::open(int attempt, int step) {
  auto [entry, is_new] = open_.try_emplace(step);
  OpenStep& open = entry->second;
  if (!is_new) return open;
  open.missing = world_size_;
  open.seen.resize(static_cast<std::size_t>(world_size_));
  open.whole.work_seconds.resize(static_cast<std::size_t>(world_size_));
  v1alpha1::JobStep& job = open.whole.job;
  job.set_attempt(attempt);
  job.set_step(step);
  job.set_loss(kNotANumber);
  job.mutable_peak_bytes_per_rank()->Resize(world_size_, 0);
  return open;
}

std::optional<WholeStep> StepAggregator::add(int attempt, int rank, const v1alpha1::StepReport& report) {
  OpenStep& step = open(attempt, report.step());
  const auto index = static_cast<std::size_t>(rank);
  if (step.seen[index]) return std::nullopt;
  step.seen[index] = true;
  --step.missing;
  step.whole.work_seconds[index] = report.work_seconds();

  v1alpha1::JobStep& job = step.whole.job;
  if (report.has_loss() && rank > step.loss_rank) {
    step.loss_rank = rank;
    job.set_loss(report.loss());
    if (report.has_validation_loss()) job.set_validation_loss(report.validation_loss());
  }
  job.set_gradient_norm(larger(job.gradient_norm(), gradient_norm_of(report)));
  job.set_learning_rate(std::max(job.learning_rate(), report.learning_rate()));
  job.set_skipped(job.skipped() || report.skipped());
  job.set_seconds(std::max(job.seconds(), report.seconds()));
  job.set_tokens(std::max(job.tokens(), report.tokens()));
  job.set_model_flops(job.model_flops() + report.model_flops());
  job.set_peak_bytes_per_rank(rank, report.peak_bytes());
  step.all_tell_phases &= report.has_phase_seconds();
  for (const StepPhase& phase : kStepPhases)
    add_to(*job.mutable_phase_seconds(), phase, (report.phase_seconds().*phase.get)() / world_size_);

  std::optional<WholeStep> whole;
  if (step.missing == 0) {
    whole = finish(step);
    open_.erase(report.step());
  }
  if (open_.size() > kMaxOpenSteps) open_.erase(open_.begin());
  return whole;
}

WholeStep StepAggregator::finish(OpenStep& step) const {
  v1alpha1::JobStep& job = step.whole.job;
  if (!step.all_tell_phases) job.clear_phase_seconds();
  if (job.seconds() > 0) {
    job.set_tokens_per_second(static_cast<double>(job.tokens()) / job.seconds());
    if (peak_flops_) job.set_mfu(job.model_flops() / (job.seconds() * *peak_flops_ * world_size_));
  }
  return std::move(step.whole);
}

}  // namespace caravan::agent
