#include "service/methods/job_watch.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
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

std::string message_of_the_end(const kube::ObjectKey& job, const std::string& uid,
                               const std::string& version) {
  WatchJobsResponse response;
  response.set_kind(WatchJobsResponse::Gone);
  response.set_resume_token(version);
  response.mutable_job()->set_name(name_of(job));
  response.mutable_job()->set_uid(uid);
  return response.SerializeAsString();
}

kube::ObjectKey name_in(const JobChange& change) {
  return (change.after ? change.after : change.before)->object->key();
}

}  // namespace

void JobWatch::on_news(std::function<void()> news) {
  const std::scoped_lock lock(mutex_);
  news_ = std::move(news);
}

void JobWatch::begin(const JobFeed::Opening& opening) {
  const std::scoped_lock lock(mutex_);
  began_ = true;
  const ByName since_the_opening = std::exchange(waiting_, {});  // whose turns these are
  const auto turns_since = std::exchange(turns_, {});
  for (const EntryPtr& job : opening.present) {
    if (concerns(job)) wait_for(job->object->key(), "");
  }
  if (!goes_on_) wait_for({}, opening.version);
  for (const ChangePtr& change : opening.missed) {
    if (concerns(change->before) || concerns(change->after))
      note_as_known(*change, wait_for(name_in(*change), change->token).first->second);
  }
  for (const auto& turn : turns_since) {
    auto& [name, waiting] = *turn;
    wait_for(name, waiting.token).first->second.known.merge(waiting.known);
  }
}

void JobWatch::on_change(const ChangePtr& change) {
  const auto changed = {change->before, change->after};
  if (std::ranges::none_of(changed, [this](const EntryPtr& job) { return concerns(job); })) return;
  std::function<void()> news;
  {
    const std::scoped_lock lock(mutex_);
    const auto [waiting, is_new] = wait_for(name_in(*change), change->token);
    if (!is_new) return;
    note_as_known(*change, waiting->second);
    news = news_;
  }
  if (news) news();
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
  while (!turns_.empty()) {
    if (tell_first(into)) return true;
  }
  if (heartbeat_.empty()) return false;
  into = message_of(WatchJobsResponse::Heartbeat, std::exchange(heartbeat_, {}));
  return true;
}

bool JobWatch::tell_first(std::string& into) {
  auto& [name, waiting] = *turns_.front();
  const EntryPtr found = jobs_.get(name);
  const EntryPtr job = concerns(found) ? found : nullptr;
  if (job) waiting.known.erase(std::string(job->object->uid()));
  if (!waiting.known.empty()) {
    into = message_of_the_end(name, *waiting.known.begin(), waiting.token);
    waiting.known.erase(waiting.known.begin());
    return true;
  }
  const auto over = waiting_.extract(turns_.front());
  turns_.pop_front();
  const bool is_complete = over.key().name.empty();
  if (is_complete) into = message_of(WatchJobsResponse::Complete, over.mapped().token);
  if (job) into = message_about(*job, over.mapped().token);
  return is_complete || job;
}

std::pair<JobWatch::ByName::iterator, bool> JobWatch::wait_for(const kube::ObjectKey& name,
                                                               const std::string& token) {
  const auto waiting = waiting_.try_emplace(name, Waiting{token});
  if (waiting.second) turns_.push_back(waiting.first);
  return waiting;
}

// Of what has come, too: what is told of a name is as new as it can be, and so may be told before its change
// gets here.
void JobWatch::note_as_known(const JobChange& change, Waiting& waiting) const {
  for (const EntryPtr& job : {change.before, change.after}) {
    if (concerns(job)) waiting.known.emplace(job->object->uid());
  }
}

bool JobWatch::concerns(const EntryPtr& job) const {
  return job && (name_space_.empty() || job->object->name_space() == name_space_) && filter_.matches(*job);
}

}  // namespace caravan::service
