// A client of the API server that a kubeconfig names, with all that it is made of. Ends the program when
// there is none: benchmarks have nothing to go on with.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/config/kubeconfig.h"
#include "kube/transport/pooled_transport.h"

namespace caravan::bench {

template <typename T, typename E>
T or_end(tl::expected<T, E> outcome) {
  if (outcome) return std::move(*outcome);
  fmt::print(stderr, "{}\n", outcome.error().message);
  std::exit(EXIT_FAILURE);
}

struct ConnectedClient {
  explicit ConnectedClient(const std::string& kubeconfig)
      : config(or_end(kube::load_kubeconfig({kubeconfig}, "", kube::read_json_document))) {}

  SystemClock clock;
  kube::Observer observer;
  kube::ClientConfig config;
  kube::ConfigCredentials credentials{config, clock};
  kube::PooledTransport transport{{.server = config.server}, credentials, clock};
  kube::Client client{transport, credentials, clock, kube::system_random(), {}, observer};
};

}  // namespace caravan::bench
