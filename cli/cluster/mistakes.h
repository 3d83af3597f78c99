// Of a command that goes on after a mistake: each is told on standard error as it comes, and the command ends
// with the first one's code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/cluster/cluster_error.h"
#include "common/result.h"

namespace caravan::cli {

class Mistakes {
 public:
  void tell(const Error& error);
  // kDone where there was none.
  ExitCode code() const { return code_; }

 private:
  ExitCode code_ = ExitCode::kDone;
};

// Does that with each job, whatever becomes of the others, unless the cluster is not reached or does not take
// the user: that would be so for all the rest, which are named.
ExitCode with_each(const std::vector<std::string>& names,
                   const std::function<ClusterResult<void>(const std::string&)>& act);

}  // namespace caravan::cli
