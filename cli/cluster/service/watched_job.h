// One job, as the messages of a watch tell of it: each state is handed over until somebody has seen enough,
// or it is gone. Pure.
#pragma once

#include <string>
#include <utility>

#include "caravan/v1alpha1/job_service.pb.h"
#include "cli/cluster/cluster.h"

namespace caravan::cli {

class WatchedJob {
 public:
  enum class Word {
    kMore,
    kEnough,
    kDeleted,
    kMissing,  // it is not among the jobs that there are, as whoever tells knows them
  };

  // uid: of the one that is meant.
  WatchedJob(std::string uid, const Cluster::Seen& seen) : uid_(std::move(uid)), seen_(seen) {}

  // A stream tells of all jobs from the beginning.
  void begin_anew() { is_there_ = false; }
  Word take(const v1alpha1::WatchJobsResponse& told);

 private:
  std::string uid_;
  const Cluster::Seen& seen_;
  bool is_there_ = false;
};

}  // namespace caravan::cli
