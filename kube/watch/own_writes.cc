#include "kube/watch/own_writes.h"

#include "kube/api/resource_version.h"

namespace caravan::kube {

void OwnWrites::wrote(const std::string& owner_uid, const std::string& plural,
                      const std::string& resource_version, Clock::TimePoint now) {
  const std::lock_guard guard(mutex_);
  Write& latest = by_owner_[owner_uid].latest[plural];
  if (compare_versions(latest.version, resource_version) < 0) latest = {resource_version, now};
}

void OwnWrites::deleted(const std::string& owner_uid, const std::string& object_uid, Clock::TimePoint now) {
  const std::lock_guard guard(mutex_);
  by_owner_[owner_uid].deletions.emplace(object_uid, now);
}

bool OwnWrites::seen(const std::string& owner_uid, const Caches& caches, Clock::TimePoint now) {
  const std::lock_guard guard(mutex_);
  const auto known = by_owner_.find(owner_uid);
  if (known == by_owner_.end()) return true;
  auto& [latest, deletions] = known->second;
  std::erase_if(latest, [&](const auto& entry) {
    const auto& [plural, write] = entry;
    return compare_versions(caches.resource_version(plural), write.version) >= 0 ||
           now - write.at >= kGivenUp;
  });
  std::erase_if(deletions, [&](const auto& deletion) {
    return !caches.holds(deletion.first) || now - deletion.second >= kGivenUp;
  });
  if (!latest.empty() || !deletions.empty()) return false;
  by_owner_.erase(known);
  return true;
}

void OwnWrites::forget(const std::string& owner_uid) {
  const std::lock_guard guard(mutex_);
  by_owner_.erase(owner_uid);
}

}  // namespace caravan::kube
