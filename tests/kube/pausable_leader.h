// What pausable_leader and the test that pauses it agree on.
#pragma once

#include "kube/election/election.h"

namespace caravan::kube::testing {

inline constexpr int kLostTheLease = 3;

inline ElectionConfig leader_config(const std::string& identity) {
  return {.identity = identity,
          .lease_duration = std::chrono::seconds(5),
          .renew_deadline = std::chrono::seconds(4),
          .retry_period = std::chrono::seconds(1),
          .lease = {.name_space = "s", .name = "operator"}};
}

}  // namespace caravan::kube::testing
