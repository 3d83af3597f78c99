// The agent's end of its stream to the coordinator.
//
// Events arrive in a mailbox, each with the number of the connection it belongs to, so that the last words of
// a broken connection are not taken for those of the next one. Nothing here blocks.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "caravan/v1alpha1/coordination.pb.h"
#include "common/mailbox.h"
#include "worker/agent/defaults.h"
#include "worker/agent/tls.h"

namespace caravan::agent {

struct LinkMessage {
  int connection = 0;
  v1alpha1::CoordinatorMessage message;
};
struct LinkBroken {
  int connection = 0;
  std::string why;
};
using LinkEvent = std::variant<LinkMessage, LinkBroken>;

struct CoordinatorAddress {
  std::string where;
  std::optional<TlsIdentity> identity = {};  // absent: no TLS
  std::string verified_name = {};            // of the certificate there; empty: the host of `where`
  std::chrono::milliseconds connect_timeout = kConnectTimeout;  // for each address of its name
};

class CoordinatorLink {
 public:
  // `events` outlives the link.
  CoordinatorLink(CoordinatorAddress address, Mailbox<LinkEvent>& events);
  ~CoordinatorLink();

  // Starts a new connection, in place of the one before; returns its number.
  int connect(const v1alpha1::AgentHello& hello);
  void send(const v1alpha1::AgentMessage& message);
  void disconnect();

 private:
  class AgentStream;

  CoordinatorAddress address_;
  Mailbox<LinkEvent>& events_;
  int connection_ = 0;
  std::unique_ptr<AgentStream> stream_;
};

}  // namespace caravan::agent
