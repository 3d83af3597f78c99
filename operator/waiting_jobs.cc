#include "operator/waiting_jobs.h"

namespace caravan::controller {

void WaitingJobs::insert(const std::string& created, const kube::ObjectKey& job) {
  Ages& ages = by_namespace_[job.name_space];
  if (!ages.empty()) oldest_.erase(*ages.begin());
  ages.emplace(created, job);
  oldest_.insert(*ages.begin());
}

void WaitingJobs::erase(const std::string& created, const kube::ObjectKey& job) {
  const auto found = by_namespace_.find(job.name_space);
  if (found == by_namespace_.end()) return;
  Ages& ages = found->second;
  oldest_.erase(*ages.begin());
  ages.erase({created, job});
  if (ages.empty()) {
    by_namespace_.erase(found);
  } else {
    oldest_.insert(*ages.begin());
  }
}

int WaitingJobs::ahead_of(const std::string& created, const kube::ObjectKey& job) const {
  constexpr int kAFew = 16;
  const std::pair<std::string, kube::ObjectKey> mine(created, job);
  int ahead = 0;
  const auto own = by_namespace_.find(job.name_space);
  if (own != by_namespace_.end()) {
    for (auto other = own->second.begin(); other != own->second.end() && *other < mine && ahead < kAFew;
         ++other)
      ++ahead;
  }
  for (auto other = oldest_.begin(); other != oldest_.end() && *other < mine && ahead < kAFew; ++other)
    ahead += other->second.name_space != job.name_space;
  return ahead;
}

}  // namespace caravan::controller
