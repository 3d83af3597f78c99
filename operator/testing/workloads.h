// Jobs that wait in a queue of Kueue, and what the queue says of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "operator/testing/jobs.h"

namespace caravan::controller::testing {

// "Evicted" -> {"True", "Preempted"}
struct ToldCondition {
  std::string type;
  std::string status;
  std::string reason;
};

inline WorkloadView workload(const std::vector<ToldCondition>& conditions, const std::string& more = "{}") {
  kube::JsonArray told;
  for (const ToldCondition& each : conditions) {
    told.push_back(kube::JsonObject{{"type", each.type},
                                    {"status", each.status},
                                    {"reason", each.reason},
                                    {"message", "told of " + each.type},
                                    {"lastTransitionTime", "2029-12-31T00:00:00Z"}});
  }
  kube::Json status = kube::parse_json(more, "a test's status").value();
  status.as_object()["conditions"] = told;
  return read_workload(kube::JsonObject{
      {"metadata", kube::JsonObject{{"name", "ltj-train"}, {"uid", "workload"}, {"resourceVersion", "7"}}},
      {"spec", kube::JsonObject{{"active", true}, {"queueName", "lq"}}},
      {"status", std::move(status)}});
}

inline WorkloadView admitted_workload() {
  return workload({{"QuotaReserved", "True", "QuotaReserved"}, {"Admitted", "True", "Admitted"}},
                  R"({"admission": {"clusterQueue": "cq", "podSetAssignments": [
                      {"name": "worker", "count": 2, "flavors": {"cpu": "spot", "memory": "spot"}}]}})");
}

inline Snapshot queued_job(const std::string& spec_more = "") {
  Snapshot snapshot{.job =
                        job(R"(, "scheduling": {"gang": {"provider": "Kueue"}, "queue": "lq"})" + spec_more)};
  snapshot.queue.api = QueueView::Api::kServed;
  snapshot.queue.flavors["spot"] = {
      .node_labels = {{"pool", "spot"}},
      .tolerations = kube::JsonArray{kube::JsonObject{{"key", "spot"}, {"operator", "Exists"}}}};
  return snapshot;
}

}  // namespace caravan::controller::testing
