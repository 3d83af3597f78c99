// This process's part in the election: whether it leads, and so may write.
//
// The election has a thread of its own. Losing the lease is final, since whoever has it now acts already: the
// process ends at once, with exit code 1.
#pragma once

#include <thread>

#include "common/unique_fd.h"
#include "kube/election/elector.h"

namespace caravan::controller {

class Leadership {
 public:
  // options: of the calls for the lease. The references outlive it.
  Leadership(const kube::ClientConfig& server, Clock& clock, kube::Observer& observer,
             const kube::ClientOptions& options, kube::ElectionConfig config);

  // Takes part from now on.
  void start();
  // Readable once this process leads.
  int elected_fd() const { return elected_.get(); }
  // Gives the lease to the next one now. Only after every worker has stopped.
  void give_back();

  // Safe for any thread.
  bool may_write() const { return elector_.may_write(); }
  bool gets_on() const { return elector_.healthy(); }

 private:
  void take_part(const std::stop_token& stop);

  Clock& clock_;
  const kube::ObjectKey lease_;
  UniqueFd elected_;
  kube::Elector elector_;
  std::jthread thread_;
};

}  // namespace caravan::controller
