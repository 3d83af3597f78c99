#include "operator/controller/job_reader.h"

#include <boost/json/value.hpp>
#include <functional>

#include "operator/api/job_conditions.h"

namespace caravan::controller {
namespace {

std::size_t hash_of_spec(const kube::Json& object) {
  const kube::Json* spec = kube::find(object, {"spec"});
  return spec == nullptr ? 0 : std::hash<kube::Json>()(*spec);
}

void copy_spec(const Job& from, Job& to) {
  to.spec = from.spec;
  to.unreadable_spec = from.unreadable_spec;
  to.mistakes = from.mistakes;
  to.unknown_fields = from.unknown_fields;
}

}  // namespace

Job JobReader::read(const kube::Json& object) {
  Job job = read_job_but_spec(object);
  const std::size_t hash = hash_of_spec(object);
  {
    const std::scoped_lock lock(mutex_);
    if (is_finished(job.status)) by_uid_.erase(job.uid);
    const auto known = by_uid_.find(job.uid);
    if (known != by_uid_.end() && known->second.hash == hash) {
      copy_spec(known->second.job, job);
      return job;
    }
  }
  read_spec(object, job);
  const std::scoped_lock lock(mutex_);
  if (job.spec.suspend() || is_finished(job.status)) {
    by_uid_.erase(job.uid);
    return job;
  }
  Known& known = by_uid_[job.uid];
  known.hash = hash;
  copy_spec(job, known.job);
  return job;
}

std::size_t JobReader::kept() const {
  const std::scoped_lock lock(mutex_);
  return by_uid_.size();
}

void JobReader::forget(const std::string& job_uid) {
  const std::scoped_lock lock(mutex_);
  by_uid_.erase(job_uid);
}

}  // namespace caravan::controller
