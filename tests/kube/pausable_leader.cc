// A leader that writes all the time, in a process of its own so that a test can stop it with a signal.
//   pausable_leader PORT AUTHORITY_FILE IDENTITY
// Ends with exit code 3 when it loses its lease, and without another write.

#include "tests/kube/pausable_leader.h"

#include <cstdlib>
#include <iostream>
#include <thread>

#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/election/elector.h"
#include "kube/transport/pooled_transport.h"

namespace caravan::kube::testing {
namespace {

[[noreturn]] void lead(const ClientConfig& config, const std::string& identity) {
  SystemClock clock;
  Observer observer;
  ConfigCredentials credentials(config, clock);
  PooledTransport transport({.server = config.server}, credentials, clock);
  Client client(transport, credentials, clock, system_random(), {}, observer);
  Elector elector(config, clock, system_random(), observer, {}, leader_config(identity));
  const std::jthread election([&] {
    if (elector.run({}, [] {}) == Elector::Outcome::kLost) std::_Exit(kLostTheLease);
  });
  Client writer = client.with({.may_write = [&] { return elector.may_write(); }});
  const ResourcePath pods{.resource = kPods, .name_space = "s"};
  while (true) {
    const auto written = writer.merge({}, pods, "a", JsonObject{{"writer", identity}});
    if (!written && written.error().kind != ErrorKind::kRefusedHere) {
      std::cerr << written.error().message << "\n";
      std::_Exit(1);
    }
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace caravan::kube::testing

int main(int, char** argv) {
  caravan::kube::testing::lead(
      {.server = {.host = "127.0.0.1", .port = argv[1]}, .authority = {.file = argv[2]}}, argv[3]);
}
