// The job service's program beside a machine whose kubelet is a script, and a pod of the job "train" on it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "operator/api/names.h"
#include "tests/kube/fault_server.h"
#include "tests/service/service_program.h"

namespace caravan::service::testing {

// Of a log, as the API server gives it with times.
inline std::string line(int second, const std::string& text) {
  return fmt::format("2026-01-01T00:00:{:02}.000000000Z {}\n", second, text);
}

class LoggedService : public ServiceProgram {
 protected:
  ~LoggedService() override {
    static_cast<void>(server_.client().remove({}, {.resource = controller::kNodes}, machine(), {}));
  }

  // No other test has it.
  std::string machine() const { return "machine-of-" + server_.name_space(); }

  void make(const kube::ResourcePath& path, const kube::Json& object) {
    const auto made = server_.client().create({}, path, object);
    if (!made) ADD_FAILURE() << made.error().message;
  }
  void mark(const kube::ResourcePath& path, const std::string& name, const kube::JsonObject& status) {
    const auto marked = server_.client().merge_status({}, path, name, kube::JsonObject{{"status", status}});
    if (!marked) ADD_FAILURE() << marked.error().message;
  }

  // A node whose kubelet listens there, and on it a pod of the job that runs.
  void make_pod(const v1alpha1::Job& job, int kubelet_port) {
    const kube::ResourcePath nodes{.resource = controller::kNodes};
    make(nodes,
         kube::JsonObject{
             {"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", kube::JsonObject{{"name", machine()}}}});
    mark(nodes, machine(),
         {{"addresses", kube::JsonArray{kube::JsonObject{{"type", "InternalIP"}, {"address", "127.0.0.1"}}}},
          {"daemonEndpoints",
           kube::JsonObject{{"kubeletEndpoint", kube::JsonObject{{"Port", kubelet_port}}}}}});
    make(pods(),
         kube::JsonObject{
             {"apiVersion", "v1"},
             {"kind", "Pod"},
             {"metadata",
              kube::JsonObject{{"name", "train-0-a1"},
                               {"labels", kube::JsonObject{{controller::labels::kJobUid, job.uid()},
                                                           {controller::labels::kNodeIndex, "0"},
                                                           {controller::labels::kAttempt, "1"}}}}},
             {"spec",
              kube::JsonObject{{"nodeName", machine()},
                               {"containers",
                                kube::JsonArray{kube::JsonObject{{"name", "sidecar"}, {"image", "none"}},
                                                kube::JsonObject{{"name", "worker"}, {"image", "none"}}}}}}});
    mark(pods(), "train-0-a1", {{"phase", "Running"}});
  }
  kube::ResourcePath pods() const { return {.resource = kube::kPods, .name_space = server_.name_space()}; }

  void end_job() {
    const kube::JsonObject complete{{"type", "Complete"},
                                    {"status", "True"},
                                    {"reason", "StepsReached"},
                                    {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
    mark(server_.jobs(), "train", {{"state", "Complete"}, {"conditions", kube::JsonArray{complete}}});
    mark(pods(), "train-0-a1", {{"phase", "Succeeded"}});
  }
};

}  // namespace caravan::service::testing
