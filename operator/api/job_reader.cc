#include "operator/api/job_reader.h"

namespace caravan::controller {

Job JobReader::read(const kube::Json& object) {
  Job job = read_job_but_spec(object);
  {
    const std::scoped_lock lock(mutex_);
    const auto known = by_uid_.find(job.uid);
    if (known != by_uid_.end() && known->second.generation == job.generation) {
      job.spec = known->second.spec;
      job.mistakes = known->second.mistakes;
      return job;
    }
  }
  read_spec(object, job);
  const std::scoped_lock lock(mutex_);
  by_uid_[job.uid] = {.generation = job.generation, .spec = job.spec, .mistakes = job.mistakes};
  return job;
}

void JobReader::forget(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  by_uid_.erase(job_uid);
}

}  // namespace caravan::controller
