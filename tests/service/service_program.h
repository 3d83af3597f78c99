// The job service's program against the API server that KUBECONFIG names, and people who call it. Each test
// has a namespace of its own, which is the only one that its service serves.
#pragma once

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job_service.grpc.pb.h"
#include "common/certificates.h"
#include "common/process.h"
#include "common/testing/temporary_folder.h"
#include "tests/crd/job_server.h"

namespace caravan::service::testing {

using Stub = v1alpha1::JobService::Stub;

// Somebody with that token or certificate.
struct Person {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Stub> stub;
  std::string token = {};

  std::unique_ptr<grpc::ClientContext> call() const;
};

struct MoreRights {
  std::optional<std::vector<std::string>> on_pods = {};  // absent: the same as on jobs
  bool reads_logs = true;
  bool lists_quotas = false;
};

class ServiceProgram : public ::testing::Test {
 protected:
  ServiceProgram();
  ~ServiceProgram() override;

  void start(const std::vector<std::string>& more = {});
  // It dies, and another one is there at the same address, with the same arguments.
  void die();
  void start_again();

  // A ServiceAccount that may do these verbs on the jobs of the namespace and on its pods and what they
  // mount, which the chart's admission policy asks of who makes a job; and list events and get logs of pods,
  // if it may do anything. It has its rights when this returns.
  void make_account(const std::string& name, const std::vector<std::string>& verbs,
                    const MoreRights& more = {});
  // The API server knows nobody by its tokens any more when this returns.
  void remove_account(const std::string& name);
  void remove_rights(const std::string& account);
  // Another one for the same name, in the same files.
  void renew_certificate();
  std::string token(const std::string& account, const std::vector<std::string>& audiences,
                    int lifetime_seconds = 600);
  // For reading here and for the API server.
  std::string full_token(const std::string& account) { return token(account, {"caravan", kServerAudience}); }
  Person person(const std::string& token, const KeyPair& certificate = {},
                grpc::ChannelArguments arguments = {});

  std::string parent() const { return "namespaces/" + server_.name_space(); }
  std::string job_name(const std::string& name) const { return parent() + "/jobs/" + name; }
  v1alpha1::LlamaTrainingJob job(const std::string& name) const;
  void create_job(const std::string& name);
  // Until that person sees the job.
  v1alpha1::Job await_job(const Person& person, const std::string& name);
  std::string log();

  static constexpr char kServerAudience[] = "https://kubernetes.default.svc";

  kube::testing::JobServer server_;
  ::caravan::test::TemporaryFolder folder_;
  KeyPair authority_ = make_authority("test", std::chrono::hours(1)).value();
  std::optional<Process> program_;
  std::string address_;
  std::vector<std::string> arguments_;
  std::string http_address_;  // empty: it is not served over HTTP
  std::string probes_;
  std::string metrics_;

 private:
  bool is_known(const std::string& token);
  void await_start(std::size_t said_before);
};

}  // namespace caravan::service::testing
