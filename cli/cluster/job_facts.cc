#include "cli/cluster/job_facts.h"

#include <cstdio>

#include "cli/say.h"

namespace caravan::cli {

std::optional<kube::JsonArray> readable_part(Result<kube::JsonArray> found, const char* what) {
  if (found) return *std::move(found);
  say(stderr, "without a look at {}: {}\n", what, found.error().message);
  return std::nullopt;
}

JobFacts read_facts(Cluster& cluster, const kube::Json& job) {
  JobFacts facts{.job = controller::read_job(job), .now = cluster.clock().wall_now()};
  if (const auto pods = readable_part(cluster.pods_of(job), "pods")) {
    for (const kube::Json& pod : *pods) facts.pods.push_back(controller::read_pod(pod));
  }
  if (const auto events = readable_part(cluster.events_of(job), "events")) {
    for (const kube::Json& event : *events) facts.events.push_back(controller::read_event(event));
  }
  return facts;
}

}  // namespace caravan::cli
