#include "worker/agent/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "planner/placement.h"
#include "planner/report.h"
#include "planner/time/save_interval.h"
#include "proto/caravan/v1alpha1/reasons.h"
#include "proto/caravan/v1alpha1/step_phases.h"
#include "worker/agent/metric_names.h"
#include "worker/agent/step_aggregator.h"
#include "worker/agent/unix_seconds.h"

namespace caravan::agent {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;
using v1alpha1::StepReport;

const Histogram::BucketBoundaries& step_buckets() {
  static const Histogram::BucketBoundaries kBuckets = {0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300};
  return kBuckets;
}

const Histogram::BucketBoundaries& checkpoint_buckets() {
  static const Histogram::BucketBoundaries kBuckets = {0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000};
  return kBuckets;
}

constexpr double kEndless = 1e12;  // seconds

}  // namespace

struct Metrics::Series {
  Series(const v1alpha1::JobPlan& job, Labels labels)
      : plan(job.plan()),
        mesh(planner::mesh_of(plan)),
        loss_rank(rank_at({.pipeline = planner::head_stage(planner::layout_value(plan))}, mesh)),
        shape(planner::shape_of(job)),
        has_checkpoints(job.spec().has_checkpoint()),
        checkpoint(job.spec().checkpoint()),
        common(std::move(labels)) {}

  Family<Counter>& counter(const metric::Description& d) {
    return prometheus::BuildCounter().Name(d.name).Help(d.help).Labels(common).Register(registry);
  }
  Family<Gauge>& gauge(const metric::Description& d) {
    return prometheus::BuildGauge().Name(d.name).Help(d.help).Labels(common).Register(registry);
  }
  Family<Histogram>& histogram(const metric::Description& d) {
    return prometheus::BuildHistogram().Name(d.name).Help(d.help).Labels(common).Register(registry);
  }
  Counter& phase_seconds(int rank, const StepPhase& phase) {
    return counter(metric::kPhaseSeconds)
        .Add({{"rank", std::to_string(rank)}, {"phase", std::string(phase.name)}});
  }

  void announce(int rank);
  void observe_step(int rank, const StepReport& step);
  void observe_memory(const Labels& labels, const StepReport& step);
  void observe_interlude(const v1alpha1::RankInterlude& interlude);
  void set_checkpoint_interval(double step_seconds);
  void observe_checkpoint(const v1alpha1::CheckpointReport& checkpoint);
  void observe_collectives(const StepReport& step);
  void observe_loss(const Labels& labels, const StepReport& step);
  void observe_gpus(const std::vector<GpuState>& gpus);
  void observe_gpu(const GpuState& gpu);
  void set_of_gpu(const metric::Description& description, const Labels& labels, double value);

  prometheus::Registry registry;
  v1alpha1::Plan plan;
  planner::MeshShape mesh;
  int loss_rank;  // one of those that know the loss
  planner::JobShape shape;
  int first_rank = 0;  // of this node
  bool has_checkpoints;
  v1alpha1::Checkpoint checkpoint;
  Labels common;
  std::mutex gpus_mutex;
  std::map<Gauge*, Family<Gauge>*> of_gpus;  // as the last reading told
};

// What is known before the first step, and the counters of a rank at 0, so that a rate counts that step too.
void Metrics::Series::announce(int rank) {
  const Labels labels{{"rank", std::to_string(rank)}};
  for (const auto& counted : {metric::kTokens, metric::kModelFlops, metric::kHardwareFlops, metric::kSteps})
    counter(counted).Add(labels);
  for (const StepPhase& phase : kStepPhases) phase_seconds(rank, phase);
  counter(metric::kOutOfMemory).Add(labels);
  const int stage = position_of(rank, mesh).pipeline;
  if (stage < plan.peak_bytes_per_stage_size()) {
    gauge(metric::kPredictedPeakBytes).Add(labels).Set(static_cast<double>(plan.peak_bytes_per_stage(stage)));
  }
  if (plan.usable_bytes() > 0)
    gauge(metric::kLimitBytes).Add(labels).Set(static_cast<double>(plan.usable_bytes()));
  if (plan.has_device_peak_flops()) {
    gauge(metric::kDevicePeakFlops)
        .Add({{"rank", std::to_string(rank)}, {"dtype", "bf16"}})
        .Set(plan.device_peak_flops());
  }
  if (rank == 0 && has_checkpoints) {
    counter(metric::kCheckpointFailures).Add({});
    set_checkpoint_interval(0);
  }
  if (rank != loss_rank) return;
  counter(metric::kNonFiniteSteps).Add(labels);
  if (plan.has_mfu()) gauge(metric::kPredictedMfu).Add(labels).Set(plan.mfu());
}

void Metrics::Series::observe_step(int rank, const StepReport& step) {
  const Labels labels{{"rank", std::to_string(rank)}};
  counter(metric::kTokens).Add(labels).Increment(step.rank_tokens());
  counter(metric::kModelFlops).Add(labels).Increment(step.model_flops());
  counter(metric::kHardwareFlops).Add(labels).Increment(step.hardware_flops());
  counter(metric::kSteps).Add(labels).Increment();
  gauge(metric::kLastStepTimestamp).Add(labels).Set(unix_seconds());
  if (plan.has_device_peak_flops() && step.seconds() > 0) {
    gauge(metric::kMfu).Add(labels).Set(step.model_flops() / step.seconds() / plan.device_peak_flops());
  }
  for (const StepPhase& phase : kStepPhases)
    phase_seconds(rank, phase).Increment((step.phase_seconds().*phase.get)());
  if (rank == 0 && has_checkpoints) set_checkpoint_interval(step.seconds());
  observe_memory(labels, step);
  observe_collectives(step);
  if (rank == loss_rank) observe_loss(labels, step);
}

// Its beginning.
void Metrics::Series::observe_interlude(const v1alpha1::RankInterlude& interlude) {
  if (!interlude.goes_on()) gauge(metric::kInterlude).Add({}).Set(unix_seconds());
}

// As the job says it; of everySteps, by the duration of the last step; else the most that the trainer
// chooses.
void Metrics::Series::set_checkpoint_interval(double step_seconds) {
  double seconds = planner::best_save_interval({.stall_seconds = kEndless}, {});
  if (checkpoint.has_every_seconds()) seconds = checkpoint.every_seconds();
  if (checkpoint.has_every_steps()) seconds = checkpoint.every_steps() * step_seconds;
  if (seconds > 0) gauge(metric::kCheckpointInterval).Add({}).Set(seconds);
}

void Metrics::Series::observe_checkpoint(const v1alpha1::CheckpointReport& checkpoint) {
  const bool written = checkpoint.outcome() == v1alpha1::CheckpointReport::Written;
  if (written) {
    gauge(metric::kCheckpointSuccess).Add({}).Set(unix_seconds());
    gauge(metric::kCheckpointStep).Add({}).Set(checkpoint.step());
    gauge(metric::kCheckpointBytes).Add({}).Set(static_cast<double>(checkpoint.bytes()));
  }
  const bool failed = checkpoint.outcome() == v1alpha1::CheckpointReport::Failed;
  if (failed) counter(metric::kCheckpointFailures).Add({}).Increment();
  if (written || failed)
    histogram(metric::kCheckpointDuration).Add({}, checkpoint_buckets()).Observe(checkpoint.seconds());
}

void Metrics::Series::observe_memory(const Labels& labels, const StepReport& step) {
  gauge(metric::kAllocatedBytes).Add(labels).Set(static_cast<double>(step.allocated_bytes()));
  gauge(metric::kReservedBytes).Add(labels).Set(static_cast<double>(step.reserved_bytes()));
  gauge(metric::kPeakBytes).Add(labels).Set(static_cast<double>(step.peak_bytes()));
}

void Metrics::Series::observe_collectives(const StepReport& step) {
  for (const auto& collective : step.collectives()) {
    const Labels labels{{"op", collective.operation()}, {"axis", collective.axis()}};
    counter(metric::kCollectiveBytes).Add(labels).Increment(static_cast<double>(collective.bytes()));
    counter(metric::kCollectiveSeconds).Add(labels).Increment(collective.seconds());
  }
}

void Metrics::Series::observe_loss(const Labels& labels, const StepReport& step) {
  gauge(metric::kLoss).Add(labels).Set(loss_of(step));
  if (step.has_validation_loss()) gauge(metric::kValidationLoss).Add(labels).Set(step.validation_loss());
  gauge(metric::kGradientNorm).Add(labels).Set(gradient_norm_of(step));
  gauge(metric::kLearningRate).Add(labels).Set(step.learning_rate());
  counter(metric::kNonFiniteSteps).Add(labels).Increment(step.skipped() ? 1 : 0);
  histogram(metric::kStepDuration).Add(labels, step_buckets()).Observe(step.seconds());
}

// What this reading does not tell has no series any more.
void Metrics::Series::observe_gpus(const std::vector<GpuState>& gpus) {
  const std::scoped_lock lock(gpus_mutex);
  const auto before = std::exchange(of_gpus, {});
  for (const GpuState& gpu : gpus) observe_gpu(gpu);
  for (const auto& [gauge, family] : before) {
    if (!of_gpus.contains(gauge)) family->Remove(gauge);
  }
}

void Metrics::Series::observe_gpu(const GpuState& gpu) {
  const Labels labels{{"device", std::to_string(gpu.index)}};
  const auto set = [&](const metric::Description& description, const std::optional<double>& value) {
    if (value) set_of_gpu(description, labels, *value);
  };
  set(metric::kProcessorClock, gpu.processor_clock_hertz);
  set(metric::kMemoryClock, gpu.memory_clock_hertz);
  set(metric::kPower, gpu.power_watts);
  set(metric::kPowerLimit, gpu.power_limit_watts);
  set(metric::kTemperature, gpu.temperature_celsius);
  if (!gpu.throttle_reasons) return;
  for (const ThrottleReason& reason : throttle_reasons()) {
    Labels with_reason = labels;
    with_reason["reason"] = reason.name;
    set_of_gpu(metric::kThrottled, with_reason, (*gpu.throttle_reasons & reason.bit) != 0 ? 1 : 0);
  }
}

void Metrics::Series::set_of_gpu(const metric::Description& description, const Labels& labels, double value) {
  Family<Gauge>& family = gauge(description);
  Gauge& series = family.Add(labels);
  series.Set(value);
  of_gpus[&series] = &family;
}

Metrics::Metrics(const v1alpha1::JobPlan& job, int node, bool local) {
  series_ = std::make_unique<Series>(job, local ? Labels{{"job", job.job_name()}} : Labels{});
  series_->first_rank = series_->shape.first_rank(node);
  for (int rank = series_->first_rank; rank <= series_->shape.last_rank(node); ++rank)
    series_->announce(rank);
}

Metrics::~Metrics() = default;

void Metrics::observe(const v1alpha1::RankUpdate& update) {
  if (update.report().has_step()) series_->observe_step(update.rank(), update.report().step());
  if (update.report().has_checkpoint()) series_->observe_checkpoint(update.report().checkpoint());
  if (update.report().has_interlude()) series_->observe_interlude(update.report().interlude());
}

void Metrics::observe(const v1alpha1::RankExit& exit) {
  if (!exit.out_of_memory() && exit.failure().reason() != reasons::kOutOfMemory) return;
  series_->counter(metric::kOutOfMemory).Add({{"rank", std::to_string(exit.rank())}}).Increment();
}

void Metrics::observe(const v1alpha1::RankSlowdowns& slowdowns) {
  int rank = series_->first_rank;
  for (const double ratio : slowdowns.ratios()) {
    if (ratio > 0) series_->gauge(metric::kSlowdown).Add({{"rank", std::to_string(rank)}}).Set(ratio);
    ++rank;
  }
}

void Metrics::observe(const std::vector<GpuState>& gpus) {
  series_->observe_gpus(gpus);
}

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(series_->registry.Collect());
}

}  // namespace caravan::agent
