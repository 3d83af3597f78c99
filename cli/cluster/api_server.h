// The API server that the user's kubeconfig names, with the user's own rights.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cluster/cluster.h"
#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/transport/pooled_transport.h"

namespace caravan::cli {

class ApiServer final : public Cluster {
 public:
  static Result<std::unique_ptr<ApiServer>> connect(const ClusterOptions& options);

  const std::string& name_space() const override { return config_.name_space; }

  ClusterResult<kube::Json> job(const std::string& name) override;
  ClusterResult<kube::JsonArray> jobs(bool everywhere, const std::string& selector) override;
  ClusterResult<std::vector<std::string>> names() override;

  ClusterResult<kube::Json> create(const kube::Json& job, bool try_out) override;
  ClusterResult<void> set_suspended(const std::string& name, bool suspended) override;
  ClusterResult<void> cancel(const std::string& name) override;
  ClusterResult<std::string> ask_for_checkpoint(const std::string& name) override;
  ClusterResult<void> remove(const kube::Json& job) override;

  ClusterResult<kube::JsonArray> pods_of(const kube::Json& job) override { return pods_of(job, {}); }
  ClusterResult<std::vector<int>> node_numbers(const kube::Json& job) override;
  ClusterResult<kube::JsonArray> events_of(const kube::Json& job) override;
  ClusterResult<kube::JsonArray> nodes() override;
  ClusterResult<std::optional<v1alpha1::EstimateJobResponse>> estimates(
      const v1alpha1::EstimateJobRequest&) override {
    return std::nullopt;
  }
  ClusterResult<kube::JsonArray> quotas(const std::string& name_space) override;

  Status read_log(const LogQuestion& question, const TakeLine& take) override;
  // From the log of node 0, of the attempts whose pods are still there, which is at least the last one.
  Result<Curve> curve_of(const std::string& name, Figure figure) override;

  Status follow(const std::string& name, Clock::TimePoint deadline, const Seen& seen) override;

  // Of one node or of all.
  ClusterResult<kube::JsonArray> pods_of(const kube::Json& job, std::optional<int> node);
  // What a pod's agent writes. query: of the subresource "log".
  ClusterResult<std::unique_ptr<kube::HttpStream>> log_of(const CallContext& context, const std::string& pod,
                                                          const kube::Query& query);
  ClusterResult<kube::Json> config_map(const std::string& name_space, const std::string& name);
  // The one that the user's calls carry; empty where he comes with a certificate.
  ClusterResult<std::string> token();
  // That one: what has come since stays, else the next one is read, or logged in for, anew.
  void forget_token(const std::string& refused) { credentials_.forget(refused); }

 private:
  ApiServer(kube::ClientConfig config, const ClusterOptions& options);

  // Of who waits at the keyboard: a plugin for credentials has no more time than the server.
  CallContext call_context();
  ClusterError explain(const kube::ApiError& error, Asked asked) const;
  ClusterResult<kube::JsonArray> list(const kube::ResourcePath& path, const kube::ListOptions& options);
  ClusterResult<kube::Json> job(const std::string& name, const CallContext& context);
  ClusterResult<void> change(const std::string& name, const kube::Json& patch);
  ClusterResult<void> annotate(const std::string& name, const char* annotation, const std::string& value);
  enum class Watched { kOver, kEnough, kDeleted };
  ClusterResult<Watched> watch(const std::string& name, const std::string& version, Clock::TimePoint deadline,
                               const Seen& seen);

  kube::Observer observer_;
  kube::ClientConfig config_;
  bool at_once_;
  kube::ConfigCredentials credentials_;
  kube::PooledTransport transport_;
  kube::Client client_;
};

}  // namespace caravan::cli
