// A cluster as the commands use it: the API server that the user's kubeconfig names, with the user's own
// rights, and what it holds of jobs. Errors are sentences for the user (api_errors.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cluster/api_errors.h"
#include "cli/cluster/options.h"
#include "common/clock.h"
#include "common/result.h"
#include "kube/client/client.h"
#include "kube/config/config_credentials.h"
#include "kube/transport/pooled_transport.h"

namespace caravan::cli {

// Of a command that gave up waiting, as timeout(1) has it.
inline constexpr ExitCode kTimedOut{124};

// Of a job that was followed and is no more.
Error was_deleted(const std::string& name);

// Tells of outages, each once: a wait of a day goes on through them.
class OutageNote {
 public:
  void failed(const ClusterError& error);
  void answered() { is_told_ = false; }

 private:
  bool is_told_ = false;
};

class Cluster {
 public:
  static Result<std::unique_ptr<Cluster>> connect(const ClusterOptions& options);

  const std::string& name_space() const { return config_.name_space; }
  Clock& clock() { return clock_; }

  ClusterResult<kube::Json> job(const std::string& name);
  // By name; of the namespace or of all. selector: of labels, or empty.
  ClusterResult<kube::JsonArray> jobs(bool everywhere, const std::string& selector = {});
  // Their names alone, of the namespace, for somebody who waits at the keyboard: asked once, for two seconds.
  ClusterResult<std::vector<std::string>> names_at_once();
  // try_out: the server judges the job and keeps nothing.
  ClusterResult<kube::Json> create(const kube::Json& job, bool try_out);
  ClusterResult<kube::Json> change(const std::string& name, const kube::Json& patch);
  // Together with its pods; uid: of the one that is meant.
  ClusterResult<void> remove(const std::string& name, const std::string& uid);

  // Of the job's present and earlier attempts, as far as they are there, by node and attempt; of one node or
  // of all.
  ClusterResult<kube::JsonArray> pods_of(const kube::Json& job, std::optional<int> node = {});
  // Of the job and its pods, the oldest first.
  ClusterResult<kube::JsonArray> events_of(const kube::Json& job);
  ClusterResult<kube::JsonArray> nodes();
  // Of the namespace.
  ClusterResult<kube::Json> config_map(const std::string& name);
  ClusterResult<kube::JsonArray> quotas(const std::string& name_space);
  // What a pod's agent writes. query: of the subresource "log".
  ClusterResult<std::unique_ptr<kube::HttpStream>> log_of(const std::string& pod, const kube::Query& query);

  // Hands over the job as it is, and then each time it changes, until `seen` returns false. An error of code
  // kTimedOut when that takes longer than until `deadline`, and was_deleted() when the job is. Once the job
  // has been seen, a server that does not answer is asked again until then, which standard error tells.
  Status follow(const std::string& name, Clock::TimePoint deadline,
                const std::function<bool(const kube::Json&)>& seen);

 private:
  explicit Cluster(kube::ClientConfig config);

  ClusterError explain(const kube::ApiError& error, const Asked& asked) const;
  ClusterResult<kube::JsonArray> list(const kube::ResourcePath& path, const kube::ListOptions& options);
  ClusterResult<kube::Json> job(const std::string& name, const CallContext& context);
  enum class Watched { kOver, kEnough, kDeleted };
  ClusterResult<Watched> watch(const std::string& name, const std::string& version, Clock::TimePoint deadline,
                               const std::function<bool(const kube::Json&)>& seen);

  SystemClock clock_;
  kube::Observer observer_;
  kube::ClientConfig config_;
  kube::ConfigCredentials credentials_;
  kube::PooledTransport transport_;
  kube::Client client_;
};

}  // namespace caravan::cli
