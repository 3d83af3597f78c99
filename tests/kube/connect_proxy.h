// An HTTP proxy on loopback that knows CONNECT and nothing else.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace caravan::kube::testing {

class ConnectProxy {
 public:
  // `answer`: what a CONNECT is told, such as "200 OK"; only then the way is open.
  explicit ConnectProxy(std::string answer);
  ~ConnectProxy();

  int port() const;
  // What was asked for, such as "127.0.0.1:443".
  std::vector<std::string> targets() const;

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace caravan::kube::testing
