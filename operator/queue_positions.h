// The places of Workloads in their queues, as Kueue's visibility server tells them.
//
// It can be asked only, not watched, and answers for a whole queue, so an answer serves all jobs of the queue
// for a while. A cluster without that server, or without the right to ask it, has no places; where it fails,
// no other queue is asked for a while, since each that waits for it in vain takes a worker. Safe from several
// threads.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kube/client/client.h"

namespace caravan::controller {

class QueuePositions {
 public:
  QueuePositions(kube::Client& client, Clock& clock) : client_(client), clock_(clock) {}

  struct Answer {
    bool is_told = false;         // the cluster tells of this queue
    bool may_be_told = false;     // it does not just now
    std::optional<int> position;  // from 0; of one far behind, a place before its own
  };
  Answer find(const CallContext& context, const std::string& name_space, const std::string& queue,
              const std::string& workload);

 private:
  struct Queue {
    bool is_told = false;
    bool may_be_told = false;
    std::map<std::string, int> positions = {};
    Clock::TimePoint good_until{};
    Clock::TimePoint stands_until{};  // if there is no newer answer
    Answer answer_for(const std::string& workload) const;
  };
  Queue ask(const CallContext& context, const std::string& name_space, const std::string& queue);

  kube::Client& client_;
  Clock& clock_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Queue> queues_;  // by namespace and name
  Clock::TimePoint silent_until_{};                              // the server; {}: it answers
};

}  // namespace caravan::controller
