#include "service/methods/job_watch.h"

#include <utility>

#include "service/jobs/job_message.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {

using v1alpha1::WatchJobsResponse;

void JobWatch::on_news(std::function<void()> news, std::function<void()> lost) {
  const std::scoped_lock lock(mutex_);
  news_ = std::move(news);
  lost_ = std::move(lost);
}

void JobWatch::begin(JobFeed::Opening opening) {
  const std::scoped_lock lock(mutex_);
  began_ = true;
  for (EntryPtr& job : opening.present) {
    if (concerns(job)) present_.push_back(std::move(job));
  }
  // What came between the opening and now stands behind what was missed.
  may_be_behind_ += opening.missed.size() + opening.present.size();
  changes_.insert(changes_.begin(), opening.missed.begin(), opening.missed.end());
  complete_ = goes_on_ ? "" : opening.version;
}

void JobWatch::on_change(const ChangePtr& change) {
  if (!concerns(change->before) && !concerns(change->after)) return;
  std::function<void()> call;
  {
    const std::scoped_lock lock(mutex_);
    if (is_lost_) return;
    changes_.push_back(change);
    is_lost_ = changes_.size() > may_be_behind_;
    call = is_lost_ ? lost_ : news_;
  }
  if (call) call();
}

void JobWatch::heartbeat(const std::string& version) {
  std::function<void()> news;
  {
    const std::scoped_lock lock(mutex_);
    heartbeat_ = version;
    news = news_;
  }
  if (news) news();
}

bool JobWatch::next(WatchJobsResponse& into) {
  const std::scoped_lock lock(mutex_);
  if (!began_) return false;
  if (next_present(into)) return true;
  while (!changes_.empty()) {
    const ChangePtr change = std::move(changes_.front());
    changes_.pop_front();
    if (tell(*change, into)) return true;
  }
  if (heartbeat_.empty()) return false;
  into.set_kind(WatchJobsResponse::Heartbeat);
  into.set_resume_token(std::exchange(heartbeat_, {}));
  return true;
}

bool JobWatch::next_present(WatchJobsResponse& into) {
  if (!present_.empty()) {
    into.set_kind(WatchJobsResponse::Changed);
    *into.mutable_job() = job_message(present_.front()->object->parse());
    present_.pop_front();
    return true;
  }
  if (complete_.empty()) return false;
  into.set_kind(WatchJobsResponse::Complete);
  into.set_resume_token(std::exchange(complete_, {}));
  return true;
}

bool JobWatch::concerns(const EntryPtr& job) const {
  return job && (name_space_.empty() || job->object->name_space() == name_space_) && filter_.matches(*job);
}

bool JobWatch::tell(const JobChange& change, WatchJobsResponse& into) const {
  into.set_resume_token(change.version);
  if (concerns(change.after)) {
    into.set_kind(WatchJobsResponse::Changed);
    *into.mutable_job() = change.job();
    return true;
  }
  if (!concerns(change.before)) return false;
  into.set_kind(WatchJobsResponse::Gone);
  into.mutable_job()->set_name(name_of(change.before->object->key()));
  into.mutable_job()->set_uid(std::string(change.before->object->uid()));
  return true;
}

}  // namespace caravan::service
