// A cluster as the commands use it, with the user's own rights: what it holds of jobs, and what can be asked
// of them. Errors are sentences for the user (cluster_error.h).
//
// Jobs, pods, events, nodes and quotas are documents as the API server has them, whoever tells of them; what
// the teller does not know of them is not in there.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caravan/v1alpha1/job_service.pb.h"
#include "cli/cluster/cluster_error.h"
#include "cli/cluster/log_question.h"
#include "cli/cluster/options.h"
#include "cli/cluster/step_curve.h"
#include "common/clock.h"
#include "common/result.h"
#include "kube/api/json.h"

namespace caravan::cli {

// How long one answer may take, and where it is waited for at the keyboard.
inline constexpr std::chrono::seconds kCallTimeout{15};
inline constexpr std::chrono::seconds kAtOnce{2};

// Of a command that gave up waiting, as timeout(1) has it.
inline constexpr ExitCode kTimedOut{124};

// Of a job that was followed and is no more.
Error was_deleted(const std::string& name);
// Of a job that was followed until the deadline.
Error waited_in_vain(const std::string& name);

// Numbers of the nodes that a job has by its plan, in order; empty before there is one.
std::vector<int> planned_nodes(const kube::Json& job);

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
  // Whether to go on.
  using Seen = std::function<bool(const kube::Json& job)>;

  // The one that the options name; of jobs it is asked nothing yet.
  static Result<std::unique_ptr<Cluster>> connect(const ClusterOptions& options);

  // context: of the kubeconfig, where the user has named it.
  explicit Cluster(std::string context = {}) : context_(std::move(context)) {}
  virtual ~Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Clock& clock() { return clock_; }
  virtual const std::string& name_space() const = 0;
  const std::string& context() const { return context_; }
  // What leads another command to the same jobs: " -n team --context prod".
  std::string place() const { return place_options(name_space(), context_); }

  virtual ClusterResult<kube::Json> job(const std::string& name) = 0;
  // By name; of the namespace or of all. selector: of labels, or empty.
  virtual ClusterResult<kube::JsonArray> jobs(bool everywhere, const std::string& selector) = 0;
  // Their names alone, of the namespace.
  virtual ClusterResult<std::vector<std::string>> names() = 0;

  // try_out: the server judges the job and keeps nothing.
  virtual ClusterResult<kube::Json> create(const kube::Json& job, bool try_out) = 0;
  virtual ClusterResult<void> set_suspended(const std::string& name, bool suspended) = 0;
  virtual ClusterResult<void> cancel(const std::string& name) = 0;
  // What status.checkpointRequest says once it is answered.
  virtual ClusterResult<std::string> ask_for_checkpoint(const std::string& name) = 0;
  // This very one, no later one of its name, together with its pods.
  virtual ClusterResult<void> remove(const kube::Json& job) = 0;

  // Of the job's present and earlier attempts, as far as they are there, by node and attempt.
  virtual ClusterResult<kube::JsonArray> pods_of(const kube::Json& job) = 0;
  // Numbers of the job's nodes, in order: the planned ones, and those of pods that are told of; empty: none
  // yet.
  virtual ClusterResult<std::vector<int>> node_numbers(const kube::Json& job) = 0;
  // Of the job and its pods, the oldest first.
  virtual ClusterResult<kube::JsonArray> events_of(const kube::Json& job) = 0;
  virtual ClusterResult<kube::JsonArray> nodes() = 0;
  // Of whoever plans for jobs himself; nothing where that is done here, for the nodes.
  virtual ClusterResult<std::optional<v1alpha1::EstimateJobResponse>> estimates(
      const v1alpha1::EstimateJobRequest& question) = 0;
  virtual ClusterResult<kube::JsonArray> quotas(const std::string& name_space) = 0;

  // Ends when `question.stop` asks for it, whatever it returns then.
  virtual Status read_log(const LogQuestion& question, const TakeLine& take) = 0;
  // Of a log that is asked for. state: the job's.
  Error has_no_pod(const LogQuestion& question, const std::string& state) const;
  virtual Result<Curve> curve_of(const std::string& name, Figure figure) = 0;

  // Hands over the job as it is, and then each time it changes, until `seen` returns false. An error of code
  // kTimedOut when that takes longer than until `deadline`, and was_deleted() when the job is. Once the job
  // has been seen, a server that does not answer is asked again until then, which standard error tells.
  virtual Status follow(const std::string& name, Clock::TimePoint deadline, const Seen& seen) = 0;

 private:
  SystemClock clock_;
  std::string context_;
};

}  // namespace caravan::cli
