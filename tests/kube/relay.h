// Passes connections on loopback on, until the other end seems to be gone without a word.
#pragma once

#include <memory>

namespace caravan::kube::testing {

class Relay {
 public:
  explicit Relay(int to_port);
  ~Relay();

  int port() const;
  // From now on nothing arrives that open connections carry; new ones are passed on.
  void swallow();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace caravan::kube::testing
