#include "cli/page/run_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/page/run_events.h"
#include "cli/page/run_status.h"
#include "operator/api/names.h"

namespace caravan::cli {
namespace {

constexpr char kOwnNamespace[] = "local";

std::string parent_of(const v1alpha1::ObjectMeta& metadata) {
  return "namespaces/" + (metadata.namespace_().empty() ? kOwnNamespace : metadata.namespace_());
}

v1alpha1::Job first_job(const v1alpha1::ObjectMeta& metadata, const PreparedRun& run, TimePoint now) {
  v1alpha1::Job job;
  job.set_name(fmt::format("{}/jobs/{}", parent_of(metadata), run.job.job_name()));
  job.set_uid(run.job.job_uid());
  job.set_create_time(controller::to_text(now));
  v1alpha1::LlamaTrainingJob& object = *job.mutable_object();
  object.set_api_version(controller::kApiVersion);
  object.set_kind(controller::kKind);
  *object.mutable_metadata() = metadata;
  object.mutable_metadata()->set_name(run.job.job_name());
  *object.mutable_spec() = run.job.spec();
  *object.mutable_status() = first_status(run.job.spec(), run.job.plan(), now);
  return job;
}

}  // namespace

RunRecord::RunRecord(Clock& clock, const v1alpha1::ObjectMeta& metadata, const PreparedRun& run)
    : clock_(clock),
      parent_(parent_of(metadata)),
      name_(fmt::format("{}/jobs/{}", parent_, run.job.job_name())),
      uid_(run.job.job_uid()),
      ranks_(run.job.plan().devices()),
      ranks_per_node_(std::max(1, (ranks_ + run.job.nodes() - 1) / std::max(1, run.job.nodes()))),
      job_(first_job(metadata, run, clock.wall_now())),
      plan_(run.report) {
  note(event_of_plan(run.job.plan(), run.job.job_name(), clock.wall_now()));
}

void RunRecord::planned(const v1alpha1::PlanReport& report) {
  const Clock::WallTime now = clock_.wall_now();
  const std::scoped_lock lock(mutex_);
  plan_ = report;
  show_new_plan(report.plan(), now, status());
  note(event_of_plan(report.plan(), job_.object().metadata().name(), now));
  ++version_;
}

void RunRecord::reported(const v1alpha1::JobReport& report) {
  const Clock::WallTime now = clock_.wall_now();
  if (report.has_step()) history_.add(uid_, controller::sample_of(report.step(), now));
  const std::scoped_lock lock(mutex_);
  show_report(job_.object().spec(), report, now, status());
  if (auto event = event_of(report, job_.object().metadata().name(), now)) note(*std::move(event));
  ++version_;
}

void RunRecord::end(const v1alpha1::JobResult& result) {
  const Clock::WallTime now = clock_.wall_now();
  const std::scoped_lock lock(mutex_);
  show_end(result, now, status());
  note(event_of_end(result, job_.object().metadata().name(), now));
  ++version_;
  has_ended_ = true;
}

void RunRecord::note(v1alpha1::JobEventRecord event) {
  events_.push_back(std::move(event));
  if (events_.size() <= kMostEvents) return;
  events_.pop_front();
  ++events_gone_;
}

v1alpha1::Job RunRecord::job() const {
  const std::scoped_lock lock(mutex_);
  v1alpha1::Job job = job_;
  job.set_etag(std::to_string(version_));
  return job;
}

v1alpha1::PlanReport RunRecord::plan() const {
  const std::scoped_lock lock(mutex_);
  return plan_;
}

std::uint64_t RunRecord::version() const {
  const std::scoped_lock lock(mutex_);
  return version_;
}

bool RunRecord::has_ended() const {
  const std::scoped_lock lock(mutex_);
  return has_ended_;
}

RunRecord::Events RunRecord::events(std::uint64_t from, std::size_t most) const {
  const std::scoped_lock lock(mutex_);
  Events page{.first = std::max(from, events_gone_)};
  for (std::uint64_t at = page.first - events_gone_; at < events_.size(); ++at) {
    page.is_all = page.events.size() < most;
    if (!page.is_all) break;
    page.events.push_back(events_[at]);
  }
  return page;
}

std::vector<controller::StepSample> RunRecord::steps_after(controller::StepCursor cursor,
                                                           std::size_t most) const {
  return history_.after(uid_, cursor, most);
}

std::shared_ptr<void> RunRecord::follow(std::function<void()> look_again) {
  return history_.follow(uid_, std::move(look_again));
}

void RunRecord::wake_all() {
  history_.tell(uid_);
}

}  // namespace caravan::cli
