// A cluster whose API server is a model in memory; its caches know what settle() has shown them.
#pragma once

#include <string>

#include "operator/testing/crash_scenario.h"
#include "operator/testing/jobs.h"
#include "operator/testing/model_api.h"

namespace caravan::controller::testing {

class NoCredentials final : public kube::Credentials {
 public:
  kube::ApiResult<std::string> token(const CallContext&) override { return std::string("token"); }
  kube::ApiResult<kube::TlsMaterial> tls(const CallContext&) override { return kube::TlsMaterial{}; }
  void forget(const std::string&) override {}
  void forget_files() override {}
};

class ModelCluster final : public CrashCluster {
 public:
  explicit ModelCluster(const kube::Json& job = job_object()) { add_job(job); }

  Clock::WallTime begins_at() override { return kStart; }
  kube::Transport& transport() override { return api_; }
  kube::Client client(kube::Transport& through) override {
    return {through, credentials_, clock_, [] { return 0.0; }, {.retry = {.tries = 1}}, observer_};
  }
  Caches new_caches() override {
    settle();
    return {jobs_,  pods_,        services_, config_maps_, accounts_, network_policies_,
            nodes_, node_reader_, taken_,    &queue_};
  }
  void settle() override {
    settle_all_but_pods();
    settle_pods();
    api_.fill(workloads_, kWorkloads.plural);
  }
  void settle_pods() {
    for (const kube::Change& change : api_.fill(pods_, kube::kPods.plural)) taken_.change(change);
  }
  // The cache of pods stays behind.
  void settle_all_but_pods() {
    api_.fill(jobs_, kJobs.plural);
    api_.fill(services_, kServices.plural);
    api_.fill(config_maps_, kConfigMaps.plural);
    api_.fill(accounts_, kServiceAccounts.plural);
    api_.fill(network_policies_, kNetworkPolicies.plural);
    for (const kube::Change& change : api_.fill(nodes_, kNodes.plural)) node_reader_.change(change);
  }

  kube::Json job() override { return api_.of(kJobs.plural).at("train"); }
  Objects pods() override { return children(kube::kPods); }
  Objects children(const kube::Resource& resource) override { return api_.of(resource.plural); }
  void bind(const std::string& name) override {
    kube::Json pod = pods().at(name);
    pod.as_object()["spec"].as_object()["nodeName"] = "machine";
    api_.put(kube::kPods.plural, pod);
  }
  void mark(const std::string& name, kube::JsonObject status) override {
    kube::Json pod = pods().at(name);
    pod.as_object()["status"] = std::move(status);
    api_.put(kube::kPods.plural, pod);
  }
  void add_job(const kube::Json& job) { api_.put(kJobs.plural, job); }
  void add_node(const kube::Json& node) { api_.put(kNodes.plural, node); }
  // What Kueue says of it.
  void tell_workload(const std::string& name, kube::JsonObject status) {
    kube::Json workload = children(kWorkloads).at(name);
    workload.as_object()["status"] = std::move(status);
    api_.put(kWorkloads.plural, workload);
  }
  // So that it has another version.
  void annotate_job() { api_.put(kJobs.plural, job()); }
  void put_plan(const kube::Json& config_map) { api_.put(kConfigMaps.plural, config_map); }
  void delete_secrets() { api_.of(kSecrets.plural).clear(); }
  void delete_plan() { api_.of(kConfigMaps.plural).clear(); }
  // The job is deleted, and another one has its name.
  void make_anew() { api_.put(kJobs.plural, job_object("", "train", "another")); }
  void set_suspended(bool suspended) override {
    kube::Json job = this->job();
    job.as_object()["spec"].as_object()["suspend"] = suspended;
    job.as_object()["metadata"].as_object()["generation"] = suspended ? 2 : 3;
    api_.put(kJobs.plural, job);
  }
  void set_status(kube::JsonObject status) {
    kube::Json job = this->job();
    job.as_object()["status"] = std::move(status);
    api_.put(kJobs.plural, job);
  }

 private:
  SystemClock clock_;
  NoCredentials credentials_;
  kube::Observer observer_;
  ModelApi api_;
  kube::Store jobs_, pods_, services_, config_maps_, accounts_, network_policies_, nodes_;
  NodeReader node_reader_;
  TakenRoom taken_;
  kube::Store workloads_, flavors_, priorities_, pod_priorities_;
  QueueCaches queue_{workloads_, flavors_, priorities_, pod_priorities_,
                     [] { return QueueView::Api::kServed; }};
};

}  // namespace caravan::controller::testing
