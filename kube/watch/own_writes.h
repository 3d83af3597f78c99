// Remembers what we wrote for an owner until the caches have seen it, so that nobody decides on an older
// picture and creates a pod twice.
//
// A write counts as seen when the cache of its resource has reached the resourceVersion that the server
// answered with; a deletion, whose answer has no final version, when the cache no longer holds the object
// with that UID, or marks it as being deleted. What is not seen within a time-out is given up: the object may
// have left the cache's selector, or the server was restored to a time before the write. Safe from several
// threads.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "common/clock.h"

namespace caravan::kube {

class OwnWrites {
 public:
  static constexpr std::chrono::minutes kGivenUp{5};

  void wrote(const std::string& owner_uid, const std::string& plural, const std::string& resource_version,
             Clock::TimePoint now);
  void deleted(const std::string& owner_uid, const std::string& object_uid, Clock::TimePoint now);

  // What the caches hold now.
  struct Caches {
    std::function<std::string(const std::string& plural)> resource_version;
    std::function<bool(const std::string& object_uid)> holds;
  };
  // False: the reconcile of this owner must be put off.
  bool seen(const std::string& owner_uid, const Caches& caches, Clock::TimePoint now);
  // The owner is gone.
  void forget(const std::string& owner_uid);

 private:
  struct Write {
    std::string version;
    Clock::TimePoint at{};
  };
  struct Outstanding {
    std::map<std::string, Write> latest;  // by plural
    std::map<std::string, Clock::TimePoint> deletions;
  };

  std::mutex mutex_;
  std::map<std::string, Outstanding> by_owner_;
};

}  // namespace caravan::kube
