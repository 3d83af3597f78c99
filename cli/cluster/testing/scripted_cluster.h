// A cluster of one job, in the namespace team, that tells what a test says and refuses what no test asks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/cluster/cluster.h"

namespace caravan::cli::testing {

class ScriptedCluster final : public Cluster {
 public:
  explicit ScriptedCluster(kube::Json object, std::string context = {})
      : Cluster(std::move(context)), object_(std::move(object)) {}

  std::vector<kube::Json> changes = {};  // handed over to whoever follows the job; behind them time is up
  std::function<Status(const LogQuestion&, const TakeLine&)> log = {};

  const std::string& name_space() const override { return name_space_; }
  ClusterResult<kube::Json> job(const std::string&) override { return object_; }
  ClusterResult<std::vector<int>> node_numbers(const kube::Json& job) override { return planned_nodes(job); }
  Status read_log(const LogQuestion& question, const TakeLine& take) override { return log(question, take); }
  Status follow(const std::string& name, Clock::TimePoint, const Seen& seen) override {
    for (const kube::Json& change : changes) {
      if (!seen(change)) return {};
    }
    return tl::unexpected(waited_in_vain(name));
  }

  ClusterResult<kube::JsonArray> jobs(bool, const std::string&) override { return unasked(); }
  ClusterResult<std::vector<std::string>> names() override { return unasked(); }
  ClusterResult<kube::Json> create(const kube::Json&, bool) override { return unasked(); }
  ClusterResult<void> set_suspended(const std::string&, bool) override { return unasked(); }
  ClusterResult<void> cancel(const std::string&) override { return unasked(); }
  ClusterResult<std::string> ask_for_checkpoint(const std::string&) override { return unasked(); }
  ClusterResult<void> remove(const kube::Json&) override { return unasked(); }
  ClusterResult<kube::JsonArray> pods_of(const kube::Json&) override { return unasked(); }
  ClusterResult<kube::JsonArray> events_of(const kube::Json&) override { return unasked(); }
  ClusterResult<kube::JsonArray> nodes() override { return unasked(); }
  ClusterResult<std::optional<v1alpha1::EstimateJobResponse>> estimates(
      const v1alpha1::EstimateJobRequest&) override {
    return unasked();
  }
  ClusterResult<kube::JsonArray> quotas(const std::string&) override { return unasked(); }
  Result<Curve> curve_of(const std::string&, Figure) override { return unasked(); }

 private:
  static tl::unexpected<ClusterError> unasked() {
    return tl::unexpected(ClusterError{{"no test asks that"}});
  }

  std::string name_space_ = "team";
  kube::Json object_;
};

}  // namespace caravan::cli::testing
