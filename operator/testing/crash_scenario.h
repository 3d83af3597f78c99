// A job's whole life under an operator that may die at each of its writes: it is created, loses a pod, is
// suspended and resumed, loses the pod of the coordinator, gets another layout when a rank runs out of
// memory, and completes.
//
// The scenario plays the user, the coordinator, the kubelet's pods and the time, on whatever cluster it is
// given. Rounds are a second long, or longer when nothing happens. No wait is real.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/testing/manual_clock.h"
#include "kube/client/client.h"
#include "operator/controller/reconciler.h"
#include "operator/testing/fateful_transport.h"

namespace caravan::controller::testing {

using Objects = std::map<std::string, kube::Json>;  // by name

// With one job, "train", of two pods.
class CrashCluster {
 public:
  virtual ~CrashCluster() = default;

  // Later than every time stamp of the cluster's own.
  virtual Clock::WallTime begins_at() = 0;
  virtual kube::Transport& transport() = 0;
  // That makes every call once, through the transport given.
  virtual kube::Client client(kube::Transport& through) = 0;
  // Those of an operator that starts. Of the one before, nothing is left.
  virtual Caches new_caches() = 0;
  // Returns once the caches hold what the cluster does, and pods that were deleted are gone.
  virtual void settle() = 0;

  virtual kube::Json job() = 0;
  virtual Objects pods() = 0;
  virtual Objects children(const kube::Resource& resource) = 0;
  virtual void bind(const std::string& pod) = 0;
  virtual void mark(const std::string& pod, kube::JsonObject status) = 0;
  virtual void set_suspended(bool suspended) = 0;
};

// Fails the test when two pods of one node are there and have not failed.
void expect_no_double(const Objects& pods);

class CrashScenario {
 public:
  CrashScenario(CrashCluster& cluster, std::function<Fate(int)> fate);

  // Until nothing is left to do. What the cluster looks like then: the job's status but for its times, and
  // every child by its name; each must be the job's.
  std::string run();

  int writes() const { return transport_.writes(); }
  // The events, in order.
  const std::vector<std::string>& told() const { return told_; }

 private:
  void start_operator();
  void play(const v1alpha1::JobStatus& now);
  void reconcile();
  v1alpha1::JobStatus status();
  bool may_begin(int attempt);
  int start_pods();
  void end_pod(const std::string& name, const char* phase, int exit_code);
  void run_out_of_memory(int attempt);
  void make_last_step(int attempt);
  std::string describe();

  CrashCluster& cluster_;
  FatefulTransport transport_;
  kube::Client client_;
  caravan::testing::ManualClock clock_;
  JobProgress progress_;
  std::vector<std::string> told_;
  std::unique_ptr<Reconciler> reconciler_;
  int quiet_ = 0;  // rounds without a write
};

}  // namespace caravan::controller::testing
