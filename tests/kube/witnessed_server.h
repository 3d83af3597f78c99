// A namespace of a real API server as the cluster of the crash scenario: the operator's own caches watch it,
// and watches of the test's own see every state of the job and its pods.
#pragma once

#include <mutex>
#include <optional>

#include "operator/caches.h"
#include "operator/testing/crash_scenario.h"
#include "tests/kube/kubelet.h"
#include "tests/kube/server_client.h"

namespace caravan::controller::testing {

// Remembers the last version of each resource that a write was answered with, whoever gets the answer.
class WitnessTransport final : public kube::Transport {
 public:
  explicit WitnessTransport(kube::Transport& next) : next_(next) {}

  kube::ApiResult<kube::HttpResponse> call(const CallContext& context,
                                           const kube::HttpRequest& request) override;
  kube::ApiResult<std::unique_ptr<kube::HttpStream>> open(const CallContext& context,
                                                          const kube::HttpRequest& request) override {
    return next_.open(context, request);
  }

  // Empty when there was no write.
  std::string last_version(const std::string& plural) const;

 private:
  kube::Transport& next_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> versions_;  // by plural
};

class WitnessedServer final : public CrashCluster {
 public:
  // The server knows the resource of jobs (see tests/crd/job_server.h).
  explicit WitnessedServer(kube::testing::ServerClient& server);

  Clock::WallTime begins_at() override;
  kube::Transport& transport() override { return transport_; }
  kube::Client client(kube::Transport& through) override;
  Caches new_caches() override;
  void settle() override;

  kube::Json job() override;
  Objects pods() override;
  Objects children(const kube::Resource& resource) override;
  void bind(const std::string& pod) override { kubelet_.bind(pod); }
  void mark(const std::string& pod, kube::JsonObject status) override {
    kubelet_.mark(pod, std::move(status));
  }
  void set_suspended(bool suspended) override;

 private:
  kube::ResourcePath at(const kube::Resource& resource) const {
    return {.resource = resource, .name_space = name_space_};
  }
  void await_caches();
  void await_version(const kube::Store& store, const kube::Resource& resource);

  kube::testing::ServerClient& server_;
  std::string name_space_;
  WitnessTransport transport_;
  kube::Client client_;  // of everybody but the operator
  kube::testing::Kubelet kubelet_;
  kube::Informer jobs_;
  kube::Informer pods_;
  std::optional<WatchedCaches> caches_;  // of the operator that lives
};

}  // namespace caravan::controller::testing
