#include "cli/cluster/cluster.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/cluster/api_server.h"
#include "cli/cluster/service/service_cluster.h"
#include "cli/say.h"
#include "operator/api/job_object.h"

namespace caravan::cli {

Error was_deleted(const std::string& name) {
  return {.message = fmt::format("job {} was deleted", name)};
}

Error waited_in_vain(const std::string& name) {
  return {.message = fmt::format("waited in vain for job {}", name), .code = kTimedOut};
}

std::vector<int> planned_nodes(const kube::Json& job) {
  const controller::Job read = controller::read_job(job);
  const int per_node = controller::ranks_per_node(read);
  std::vector<int> nodes;
  if (per_node <= 0) return nodes;
  for (int rank = 0; rank < read.spec.resources().devices(); rank += per_node)
    nodes.push_back(rank / per_node);
  return nodes;
}

void OutageNote::failed(const ClusterError& error) {
  if (!is_told_) say(stderr, "{}; it is asked again until it answers\n", error.message);
  is_told_ = true;
}

Error Cluster::has_no_pod(const LogQuestion& question, const std::string& state) const {
  return {.message = fmt::format(
              "job {0} has no pod of node {1} now; it is {2}, and `caravan doctor {0}{3}` says more",
              question.job, question.node, state.empty() ? "new" : state, place())};
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
