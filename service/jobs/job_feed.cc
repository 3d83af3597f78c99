#include "service/jobs/job_feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/api/resource_version.h"
#include "operator/api/job_conditions.h"
#include "operator/api/job_object.h"
#include "service/jobs/job_message.h"
#include "service/jobs/names.h"

namespace caravan::service {
namespace {

constexpr std::size_t kLongestVersion = 64;

bool is_version(const std::string& text) {
  return text.size() <= kLongestVersion &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::size_t bytes_of(const JobChange& change) {
  return change.after ? change.after->object->text().size() + change.after->message.size() : 0;
}

}  // namespace

JobEntry entry_of(const kube::ObjectPtr& object) {
  const kube::Json job = object->parse();
  JobEntry entry{.object = object,
                 .message = job_message(job).SerializeAsString(),
                 .created = kube::text_at(job, {"metadata", "creationTimestamp"}),
                 .state = kube::text_at(job, {"status", "state"}),
                 .has_ended = controller::is_finished(controller::read_job_but_spec(job).status),
                 .user = kube::text_at(job, {"metadata", "annotations", kCreatedBy})};
  const kube::Json* labels = kube::find(job, {"metadata", "labels"});
  if (labels == nullptr || !labels->is_object()) return entry;
  for (const auto& label : labels->get_object()) {
    if (label.value().is_string()) entry.labels[label.key()] = std::string(label.value().get_string());
  }
  return entry;
}

std::optional<kube::Json> shown_of_job(const kube::Json& object) {
  kube::Json shown = kube::without_managed_fields(object);
  const kube::Json* found = kube::find(shown, {"metadata", "annotations"});
  if (found == nullptr || !found->is_object()) return shown;
  kube::JsonObject kept;
  for (const auto& one : found->get_object()) {
    if (one.value().is_string() && one.value().get_string().size() <= kLongestAnnotation)
      kept[one.key()] = one.value();
  }
  shown.get_object()["metadata"].get_object()["annotations"] = std::move(kept);
  return shown;
}

v1alpha1::Job job_of(const JobEntry& entry) {
  v1alpha1::Job job;
  job.ParseFromString(entry.message);
  return job;
}

void JobFeed::listed(const std::string& before, const std::string& now) {
  const std::scoped_lock lock(mutex_);
  if (before.empty() || kube::compare_versions(before, now) >= 0) return;
  gaps_.push_back({.after = before, .before = now});
  if (gaps_.size() <= kKeptGaps) return;
  first_version_ = gaps_.front().before;
  gaps_.pop_front();
}

// An API server whose data were restored counts from an earlier version on.
std::string JobFeed::version() const {
  const auto [seen, reported] = versions_();
  return reported.empty() || kube::compare_versions(seen, reported) < 0 ? seen : reported;
}

void JobFeed::take(const kube::Change& change) {
  const std::string seen = versions_().seen;
  const kube::ObjectKey key = (change.after ? change.after : change.before)->key();
  const EntryPtr after = change.after ? std::make_shared<const JobEntry>(entry_of(change.after)) : nullptr;
  ChangePtr noted;
  std::vector<std::weak_ptr<Listener>> told;
  {
    const std::scoped_lock lock(mutex_);
    noted = note(
        key, {.before = nullptr, .after = after, .version = seen, .token = change.more ? version() : seen});
    std::erase_if(listeners_, [](const auto& listener) { return listener.expired(); });
    told = listeners_;
  }
  for (const auto& one : told) {
    if (const auto listener = one.lock()) listener->on_change(noted);
  }
}

// change: all but what was before.
ChangePtr JobFeed::note(const kube::ObjectKey& key, JobChange change) {
  begin_again_if_older(change.version);
  const auto known = entries_.find(key);
  if (known != entries_.end()) change.before = known->second;
  if (change.after) {
    entries_[key] = change.after;
  } else if (change.before) {
    entries_.erase(known);
  }
  ChangePtr noted = std::make_shared<const JobChange>(std::move(change));
  changes_.push_back(noted);
  kept_bytes_ += bytes_of(*noted);
  for (; changes_.size() > kKeptChanges || kept_bytes_ > kKeptBytes; changes_.pop_front()) {
    lost_version_ = changes_.front()->version;
    kept_bytes_ -= bytes_of(*changes_.front());
  }
  return noted;
}

// After a restore: tokens from before mean nothing.
void JobFeed::begin_again_if_older(const std::string& version) {
  const bool is_older = !changes_.empty() && kube::compare_versions(version, changes_.back()->version) < 0;
  if (!first_version_.empty() && !is_older) return;
  first_version_ = version;
  lost_version_.clear();
  gaps_.clear();
  changes_.clear();
  kept_bytes_ = 0;
}

Answer<void> JobFeed::has_jobs_of(const std::string& name_space) const {
  if (name_space_.empty() || name_space.empty() || name_space == name_space_) return {};
  return fault(Code::kFailedPrecondition, faults::kOtherNamespace,
               fmt::format("this service has the jobs of the namespace {} only", name_space_));
}

EntryPtr JobFeed::get(const kube::ObjectKey& key) const {
  const std::scoped_lock lock(mutex_);
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : found->second;
}

std::vector<EntryPtr> JobFeed::all(const std::string& name_space) const {
  const std::scoped_lock lock(mutex_);
  return entries_of(name_space);
}

Answer<JobFeed::Opening> JobFeed::open(const std::shared_ptr<Listener>& listener,
                                       const std::string& name_space, const std::string& resume_token) {
  if (!is_version(resume_token)) return bad_field("resume_token", "expected that of a message of WatchJobs");
  const std::scoped_lock lock(mutex_);
  Opening opening{.version = version()};
  if (first_version_.empty()) first_version_ = opening.version;
  if (resume_token.empty()) {
    opening.present = entries_of(name_space);
  } else if (kube::compare_versions(resume_token, first_version_) < 0 || is_in_a_gap(resume_token) ||
             (!lost_version_.empty() && kube::compare_versions(resume_token, lost_version_) <= 0)) {
    return fault(Code::kOutOfRange, faults::kTokenTooOld,
                 "the changes since are not kept any more; begin without a resume_token");
  } else {
    // A list taken anew makes several changes of one version, of which some may have been told.
    std::ranges::copy_if(changes_, std::back_inserter(opening.missed), [&](const ChangePtr& change) {
      return kube::compare_versions(change->version, resume_token) >= 0;
    });
  }
  std::erase_if(listeners_, [](const auto& other) { return other.expired(); });
  listeners_.push_back(listener);
  return opening;
}

// A list that has just taken effect may not have been told of yet.
bool JobFeed::is_in_a_gap(const std::string& version) const {
  const auto is_in = [&](const Gap& gap) {
    return kube::compare_versions(version, gap.after) > 0 && kube::compare_versions(version, gap.before) < 0;
  };
  const auto [seen, reported] = versions_();
  return std::ranges::any_of(gaps_, is_in) ||
         (!reported.empty() && is_in({.after = reported, .before = seen}));
}

std::vector<EntryPtr> JobFeed::entries_of(const std::string& name_space) const {
  std::vector<EntryPtr> entries;
  auto at = name_space.empty() ? entries_.begin() : entries_.lower_bound({name_space, ""});
  for (; at != entries_.end() && (name_space.empty() || at->first.name_space == name_space); ++at)
    entries.push_back(at->second);
  return entries;
}

}  // namespace caravan::service
