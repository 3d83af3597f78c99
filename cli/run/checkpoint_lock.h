// Keeps a second `caravan run` out of a folder of checkpoints while the first one lives.
//
// A lock of the kernel on a file in the folder, which goes with the process however it ends, so that nothing
// has to be removed after a crash. File systems of several machines know the lock between machines or not;
// where it cannot be had the run goes on with a notice, and the records in the folder
// (checkpoint/folder/owner.h) still keep two runs apart.
#pragma once

#include <string>
#include <utility>

#include "common/result.h"
#include "common/unique_fd.h"

namespace caravan::cli {

class CheckpointLock {
 public:
  // Makes the folder where it is absent; empty: the job has none. An error, exit code 2, only if another run
  // has the lock: it names that run.
  static Result<CheckpointLock> take(const std::string& folder, const std::string& job_name);

  // Why nothing is locked, for people; empty: something is, or there is nothing to lock.
  const std::string& notice() const { return notice_; }

 private:
  explicit CheckpointLock(UniqueFd file, std::string notice = {})
      : file_(std::move(file)), notice_(std::move(notice)) {}
  static CheckpointLock none(const std::string& folder, int error);

  UniqueFd file_;
  std::string notice_;
};

}  // namespace caravan::cli
