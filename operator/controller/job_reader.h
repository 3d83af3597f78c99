// Reads jobs, and each content of a spec once: checking it against the schema's rules costs milliseconds, a
// reconcile that finds nothing to do should not. What waits for its user or is over is looked at rarely, and
// there may be any number of it: that is read each time. Safe for any thread.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "operator/api/job_object.h"

namespace caravan::controller {

class JobReader {
 public:
  Job read(const kube::Json& object);
  void forget(const std::string& job_uid);
  std::size_t kept() const;

 private:
  struct Known {
    std::size_t hash = 0;  // a new definition adds defaults without a new generation
    Job job;               // what read_spec fills in
  };

  mutable std::mutex mutex_;
  std::map<std::string, Known> by_uid_;
};

}  // namespace caravan::controller
