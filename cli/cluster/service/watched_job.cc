#include "cli/cluster/service/watched_job.h"

#include "cli/cluster/service/documents.h"

namespace caravan::cli {

WatchedJob::Word WatchedJob::take(const v1alpha1::WatchJobsResponse& told) {
  switch (told.kind()) {
    case v1alpha1::WatchJobsResponse::Changed:
      if (told.job().uid() != uid_) return Word::kDeleted;
      is_there_ = true;
      return seen_(job_document(told.job())) ? Word::kMore : Word::kEnough;
    case v1alpha1::WatchJobsResponse::Gone:
      return told.job().uid() == uid_ ? Word::kDeleted : Word::kMore;
    case v1alpha1::WatchJobsResponse::Complete:
      return is_there_ ? Word::kMore : Word::kMissing;
    default:
      return Word::kMore;
  }
}

}  // namespace caravan::cli
