// How much of the service one caller may have: requests by rate, streams by number. Whoever floods it waits
// behind himself. Safe for any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "common/clock.h"
#include "service/answer/fault.h"
#include "serving/pace.h"

namespace caravan::service {

// That Kubernetes has the ServiceAccounts of a namespace in, which whoever has rights in it may make; empty
// of other users.
std::string group_of_accounts(std::string_view user);

class Shares {
 public:
  struct Limits {
    double requests_per_second = 100;  // on the long run
    double burst = 400;
    // Open at once. The ServiceAccounts of a namespace have twice as many together.
    int streams = 64;
  };
  using Ticket = std::shared_ptr<void>;  // a stream counts as long as it is held

  Shares(Clock& clock, const Limits& limits) : clock_(clock), limits_(limits) {}

  Answer<void> take_request(const std::string& user);
  Answer<Ticket> take_stream(const std::string& user);

 private:
  void forget_the_rested();
  Answer<void> find_room(const std::string& whose, int most) const;
  void give_back(const std::string& whose);

  Clock& clock_;
  const Limits limits_;
  std::mutex mutex_;
  std::map<std::string, Pace> paces_;
  std::map<std::string, int> streams_;  // by user, and by the group of a namespace's accounts
};

}  // namespace caravan::service
