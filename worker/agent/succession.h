// Tells the agent of node 0 that a newer one has taken its place.
//
// A pod whose machine is cut off from the cluster's API goes on after it was replaced, and with it the gang
// that it coordinates. So the agent looks up its own name every now and then, and asks each coordinator found
// there: the newer one says so, and the older one ends. Then its gang looks the name up again and finds the
// newer one.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "worker/agent/coordinator_link.h"

namespace caravan::agent {

// Addresses HOST:PORT of a name HOST:PORT; none when it cannot be looked up now.
std::vector<std::string> addresses_of(const std::string& name);

class Succession {
 public:
  struct Config {
    std::string coordinator;  // HOST:PORT, as other agents find it
    std::optional<TlsIdentity> identity = {};
    std::string job_uid = {};
    std::string incarnation = {};
    int first_attempt = 1;
    std::chrono::milliseconds pause{30'000};    // between two looks
    std::chrono::milliseconds patience{5'000};  // for the answer of one coordinator
  };
  using Lookup = std::function<std::vector<std::string>(const std::string& name)>;

  // lookup: called by threads that may outlive this object, since a name server may not answer for minutes.
  // on_newer: called once, by another thread.
  Succession(Config config, Lookup lookup, std::function<void()> on_newer);

 private:
  void watch(const std::stop_token& stop);
  std::vector<std::string> look_up(const std::stop_token& stop) const;
  bool is_newer(const std::string& address) const;

  const Config config_;
  const Lookup lookup_;
  const std::function<void()> on_newer_;
  std::jthread thread_;
};

}  // namespace caravan::agent
