// The operator's program against the API server that KUBECONFIG names. There is no scheduler, kubelet or
// garbage collector: the test plays their parts, on pods that never run. Each test has a namespace of its
// own, which is the only one that its operators serve.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "common/process.h"
#include "common/testing/await.h"
#include "operator/api/names.h"
#include "tests/crd/job_server.h"
#include "tests/kube/kubelet.h"

namespace caravan::controller::testing {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;
using kube::testing::job_yaml;

class OperatorProgram : public ::testing::Test {
 protected:
  OperatorProgram();
  ~OperatorProgram() override;

  Process start_operator(const std::vector<std::string>& more = {});
  // The next one need not wait until the lease is over, which a test of its own shows.
  void kill_leader(Process& program);

  void create_job(const std::string& yaml);
  void set_suspended(bool suspended);
  Json job(const std::string& name = "train");
  std::string job_text(kube::JsonPath path) { return kube::text_at(job(), path); }
  // "Scheduled" -> "False WaitingForPods: 0 of 2 pods ..."; empty when there is no such condition.
  std::string condition(const std::string& type);

  kube::ResourcePath at(const kube::Resource& resource) const {
    return {.resource = resource, .name_space = server_.name_space()};
  }
  kube::Client& client() { return server_.client(); }
  JsonArray all(const kube::Resource& resource);  // that the operator made
  bool has_event(const std::string& reason);
  std::vector<std::string> pods();
  // Every object that the operator made for jobs, as "pods/train-0-a1".
  std::vector<std::string> children();

  // The scheduler.
  void bind(const std::string& pod) { kubelet_.bind(pod); }
  // The kubelet.
  void mark(const std::string& pod, JsonObject status) { kubelet_.mark(pod, std::move(status)); }
  void run(const std::string& pod);
  void end(const std::string& pod, const char* phase, int exit_code);
  void let_go(const std::string& pod) { kubelet_.let_go(pod); }
  // The garbage collector.
  void remove_if_of(const std::string& owner_uid, const kube::Resource& resource, const Json& child);

  template <typename Condition>
  void await(const std::string& what, Condition holds) {
    const auto end = clock_.now() + test::kPatience;
    while (!holds()) {
      ASSERT_LT(clock_.now(), end) << "waited in vain: " << what << "; " << describe();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  void await_pods(const std::vector<std::string>& wanted);
  void await_state(const std::string& wanted);
  // Until the condition reads like that, in part.
  void await_condition(const std::string& type, const std::string& part);
  std::string holder_of_the_lease();
  // Of a field of the operators' log, once there is a line with that message.
  std::string await_log(const std::string& message, const std::string& field);
  // Where the operators serve their metrics, in the order of their starts.
  std::vector<std::string> addresses();
  // The value of a series with its labels; 0 when there is none.
  static double metric(const std::string& address, const std::string& series);
  std::string describe();

  SystemClock clock_;
  kube::testing::JobServer server_;
  kube::testing::Kubelet kubelet_{server_.client(), server_.name_space()};
  std::filesystem::path log_;  // of all operators of the test
};

}  // namespace caravan::controller::testing
