// Jobs that wait for machines: how many of them a gang lets go first that has given its machines back.
//
// The older ones of its namespace, each, and of every other namespace one: who fills his own with jobs that
// no machine will ever suffice for holds up himself. Not safe for several threads.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "kube/api/object.h"

namespace caravan::controller {

class WaitingJobs {
 public:
  // created: as the API server writes times, which have the order of texts.
  void insert(const std::string& created, const kube::ObjectKey& job);
  void erase(const std::string& created, const kube::ObjectKey& job);
  // More than a few count as a few.
  int ahead_of(const std::string& created, const kube::ObjectKey& job) const;

 private:
  using Ages = std::set<std::pair<std::string, kube::ObjectKey>>;

  std::map<std::string, Ages> by_namespace_;  // none is empty
  Ages oldest_;                               // of each
};

}  // namespace caravan::controller
