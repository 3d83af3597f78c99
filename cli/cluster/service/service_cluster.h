// The job service of a cluster, with the rights of whoever the token names. It tells of jobs and what belongs
// to them, and not of nodes and pods.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job_service.grpc.pb.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/service/access.h"
#include "cli/cluster/service/errors.h"
#include "cli/cluster/service/watched_job.h"
#include "common/call_context.h"

namespace caravan::cli {

class ServiceCluster final : public Cluster {
 public:
  static Result<std::unique_ptr<ServiceCluster>> connect(const ClusterOptions& options);

  const std::string& name_space() const override { return access_.name_space; }

  ClusterResult<kube::Json> job(const std::string& name) override;
  ClusterResult<kube::JsonArray> jobs(bool everywhere, const std::string& selector) override;
  ClusterResult<std::vector<std::string>> names() override;

  ClusterResult<kube::Json> create(const kube::Json& job, bool try_out) override;
  ClusterResult<void> set_suspended(const std::string& name, bool suspended) override;
  ClusterResult<void> cancel(const std::string& name) override;
  ClusterResult<std::string> ask_for_checkpoint(const std::string& name) override;
  ClusterResult<void> remove(const kube::Json& job) override;

  ClusterResult<kube::JsonArray> pods_of(const kube::Json& job) override;
  ClusterResult<std::vector<int>> node_numbers(const kube::Json& job) override;
  ClusterResult<kube::JsonArray> events_of(const kube::Json& job) override;
  ClusterResult<kube::JsonArray> nodes() override;
  // Goes by what the job says of its devices.
  ClusterResult<std::optional<v1alpha1::EstimateJobResponse>> estimates(
      const v1alpha1::EstimateJobRequest& question) override;
  ClusterResult<kube::JsonArray> quotas(const std::string& name_space) override;

  Status read_log(const LogQuestion& question, const TakeLine& take) override;
  // Of the steps that the operator keeps.
  Result<Curve> curve_of(const std::string& name, Figure figure) override;

  Status follow(const std::string& name, Clock::TimePoint deadline, const Seen& seen) override;

 private:
  using Stub = v1alpha1::JobService::Stub;
  template <typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  template <typename Request, typename Response>
  using StreamMethod = std::unique_ptr<grpc::ClientReader<Response>> (Stub::*)(grpc::ClientContext*,
                                                                               const Request&);

  ServiceCluster(ServiceAccess access, const ClusterOptions& options);

  // Right after the call.
  Server server() const;
  ClusterError explain(const grpc::Status& status, Asked asked) const;

  // Made again while the service is busy or cannot be reached, or late to say whether it has created a job,
  // for a while, and not beyond `until`.
  template <typename Request, typename Response>
  ClusterResult<Response> call(Method<Request, Response> method, const Request& request, Asked asked,
                               Clock::TimePoint until = Clock::kNever);
  struct Ended {
    grpc::Status status;
    bool is_of_old_token = false;  // refused, and the token has been renewed since: it is to be opened again
  };
  // Once: hands over each message until `take` has enough or the stream ends, and says how. An error is of
  // the token.
  template <typename Request, typename Response>
  ClusterResult<Ended> read(const CallContext& limits, StreamMethod<Request, Response> method,
                            const Request& request, const std::function<bool(const Response&)>& take);
  // To its end: a stream that breaks is opened again behind its last message. goes_on: through outages of any
  // length, which standard error tells.
  template <typename Request, typename Response>
  ClusterResult<void> read_through(const CallContext& limits, StreamMethod<Request, Response> method,
                                   Request request, const Asked& asked, bool goes_on,
                                   const std::function<void(const Response&)>& take);

  struct Round {
    WatchedJob::Word word;
    std::chrono::milliseconds pause;  // before the next one
  };
  // One stream of a watch, from where `request` says to its end; then `request` says where to go on.
  ClusterResult<Round> watch(v1alpha1::WatchJobsRequest& request, Clock::TimePoint deadline, WatchedJob& job,
                             OutageNote& outage, bool& was_renewed);

  // Of a method that changes the job of that name.
  template <typename Request>
  ClusterResult<v1alpha1::Job> change(Method<Request, v1alpha1::Job> method, const std::string& name,
                                      Request request = {});

  ClusterResult<std::vector<v1alpha1::Job>> list(const std::string& name_space, const std::string& filter);
  ClusterResult<v1alpha1::Job> find(const std::string& name, Clock::TimePoint until = Clock::kNever);
  // The same of a job that was created a moment ago, which a replica may hear of a little later.
  ClusterResult<v1alpha1::Job> find_new(const std::string& name, Clock::TimePoint until);

  ServiceAccess access_;
  bool at_once_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> stub_;
  std::string created_ = {};  // the job that this command has created
};

}  // namespace caravan::cli
