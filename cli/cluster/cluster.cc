#include "cli/cluster/cluster.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/cluster/api_server.h"
#include "cli/cluster/service/service_cluster.h"
#include "cli/say.h"

namespace caravan::cli {

Error was_deleted(const std::string& name) {
  return {.message = fmt::format("job {} was deleted", name)};
}

Error has_no_pod(const LogQuestion& question, const std::string& state) {
  return {.message =
              fmt::format("job {} has no pod of node {} now; it is {}, and `caravan doctor {}` says more",
                          question.job, question.node, state.empty() ? "new" : state, question.job)};
}

Error waited_in_vain(const std::string& name) {
  return {.message = fmt::format("waited in vain for job {}", name), .code = kTimedOut};
}

void OutageNote::failed(const ClusterError& error) {
  if (!is_told_) say(stderr, "{}; it is asked again until it answers\n", error.message);
  is_told_ = true;
}

Result<std::unique_ptr<Cluster>> Cluster::connect(const ClusterOptions& options) {
  if (!options.service.address.empty()) {
    auto service = ServiceCluster::connect(options);
    if (!service) return tl::unexpected(std::move(service.error()));
    return *std::move(service);
  }
  auto server = ApiServer::connect(options);
  if (!server) return tl::unexpected(std::move(server.error()));
  return *std::move(server);
}

}  // namespace caravan::cli
