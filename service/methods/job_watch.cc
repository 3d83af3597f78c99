#include "service/methods/job_watch.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "service/jobs/resource_name.h"

namespace caravan::service {

using v1alpha1::WatchJobsResponse;
namespace {

constexpr std::uint32_t kJobTag = (WatchJobsResponse::kJobFieldNumber << 3) | 2;  // of a field with a length

std::string message_of(WatchJobsResponse::Kind kind, const std::string& version) {
  WatchJobsResponse response;
  response.set_kind(kind);
  response.set_resume_token(version);
  return response.SerializeAsString();
}

// A message may be written field by field.
std::string message_about(const JobEntry& job, const std::string& version) {
  std::string message = message_of(WatchJobsResponse::Changed, version);
  google::protobuf::io::StringOutputStream end(&message);
  google::protobuf::io::CodedOutputStream out(&end);
  out.WriteVarint32(kJobTag);
  out.WriteVarint32(static_cast<std::uint32_t>(job.message.size()));
  out.WriteString(job.message);
  out.Trim();
  return message;
}

std::string message_of_the_end(const JobEntry& job, const std::string& version) {
  WatchJobsResponse response;
  response.set_kind(WatchJobsResponse::Gone);
  response.set_resume_token(version);
  response.mutable_job()->set_name(name_of(job.object->key()));
  response.mutable_job()->set_uid(std::string(job.object->uid()));
  return response.SerializeAsString();
}

}  // namespace

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

bool JobWatch::next(std::string& into) {
  const std::scoped_lock lock(mutex_);
  if (!began_) return false;
  if (next_present(into)) return true;
  while (!changes_.empty()) {
    const ChangePtr change = std::move(changes_.front());
    changes_.pop_front();
    if (tell(*change, into)) return true;
  }
  if (heartbeat_.empty()) return false;
  into = message_of(WatchJobsResponse::Heartbeat, std::exchange(heartbeat_, {}));
  return true;
}

bool JobWatch::next_present(std::string& into) {
  if (!present_.empty()) {
    into = message_about(*present_.front(), "");
    present_.pop_front();
    return true;
  }
  if (complete_.empty()) return false;
  into = message_of(WatchJobsResponse::Complete, std::exchange(complete_, {}));
  return true;
}

bool JobWatch::concerns(const EntryPtr& job) const {
  return job && (name_space_.empty() || job->object->name_space() == name_space_) && filter_.matches(*job);
}

bool JobWatch::tell(const JobChange& change, std::string& into) const {
  if (concerns(change.after)) {
    into = message_about(*change.after, change.token);
  } else if (concerns(change.before)) {
    into = message_of_the_end(*change.before, change.token);
  } else {
    return false;
  }
  return true;
}

}  // namespace caravan::service
