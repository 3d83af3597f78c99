// The command line's client of the job service, against services of scripts over TLS.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "caravan/v1alpha1/job_service.grpc.pb.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/service/channel.h"
#include "common/certificates.h"
#include "common/testing/temporary_folder.h"
#include "kube/api/json.h"
#include "kube/api/object.h"
#include "tests/kube/relay.h"

namespace caravan::service::testing {
namespace {

using namespace std::chrono_literals;
using namespace v1alpha1;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Serves as localhost for as long as it lives.
class TlsServer {
 public:
  explicit TlsServer(grpc::Service& service) {
    const KeyPair own =
        issue_certificate(authority_, {.common_name = "service", .dns_names = {"localhost"}}).value();
    grpc::SslServerCredentialsOptions tls;
    tls.pem_key_cert_pairs.push_back({own.key_pem, own.certificate_pem});
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 100);
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port_);
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
  }
  ~TlsServer() { server_->Shutdown(std::chrono::system_clock::now()); }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  int port() const { return port_; }
  const std::string& root_pem() const { return authority_.certificate_pem; }

 private:
  const KeyPair authority_ = make_authority("test", 1h).value();
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Its watches say nothing until nobody listens.
class SilentService final : public JobService::Service {
  grpc::Status WatchJobs(grpc::ServerContext* context, const WatchJobsRequest*,
                         grpc::ServerWriter<WatchJobsResponse>*) override {
    while (!context->IsCancelled()) std::this_thread::sleep_for(10ms);
    return grpc::Status::CANCELLED;
  }
};

TEST(ServiceClient, NoticesThatAServiceIsLostHoweverLongItsStreamWasSilent) {
  SilentService service;
  const TlsServer server(service);
  kube::testing::Relay relay(server.port());
  const auto channel = cli::open_channel({.address = fmt::format("127.0.0.1:{}", relay.port()),
                                          .server_name = "localhost",
                                          .root_pem = server.root_pem()},
                                         {.period = 1s, .answer = 1s});
  const auto stub = JobService::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  const auto reader = stub->WatchJobs(&context, {});
  std::this_thread::sleep_for(5s);  // gRPC by itself leaves it at two pings
  relay.swallow();
  WatchJobsResponse told;
  EXPECT_FALSE(reader->Read(&told));
  const grpc::Status ended = reader->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE) << ended.error_message();
}

// Makes a job of each request that it has not seen, and has no time left to say so.
class LateService final : public JobService::Service {
 public:
  explicit LateService(grpc::Status when_asked_again) : when_asked_again_(std::move(when_asked_again)) {}

  std::vector<std::string> made() const {
    const std::scoped_lock lock(mutex_);
    return made_;
  }

 private:
  grpc::Status CreateJob(grpc::ServerContext*, const CreateJobRequest* request, Job* job) override {
    const std::scoped_lock lock(mutex_);
    *job->mutable_object() = request->job();
    if (!made_.empty() && made_.back() == request->request_id()) return when_asked_again_;
    made_.push_back(request->request_id());
    return {grpc::StatusCode::DEADLINE_EXCEEDED, "the API server is slow"};
  }

  const grpc::Status when_asked_again_;
  mutable std::mutex mutex_;
  std::vector<std::string> made_;
};

cli::ClusterResult<kube::Json> create_job(const TlsServer& server) {
  const test::TemporaryFolder folder;
  cli::ClusterOptions options;
  options.name_space = "team";
  options.service = {.address = fmt::format("127.0.0.1:{}", server.port()),
                     .root_file = folder.write("ca.crt", server.root_pem()),
                     .server_name = "localhost",
                     .token_file = folder.write("token", "secret")};
  const auto job = kube::parse_json(R"({"metadata": {"name": "tiny"}})", "a job").value();
  return cli::Cluster::connect(options).value()->create(job, /*try_out=*/false);
}

// For longer than anybody asks again.
grpc::Status busy() {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(60);
  google::rpc::Status whole;
  whole.add_details()->PackFrom(retry);
  return {grpc::StatusCode::UNAVAILABLE, "busy", whole.SerializeAsString()};
}

TEST(ServiceClient, SubmitsOneJobThoughTheAnswerIsLate) {
  LateService service(grpc::Status::OK);
  const TlsServer server(service);
  const auto created = create_job(server);
  ASSERT_TRUE(created.has_value()) << created.error().message;
  EXPECT_EQ(kube::key_of(*created).name, "tiny");
  EXPECT_THAT(service.made(), SizeIs(1));
}

TEST(ServiceClient, SaysThatAJobMayHaveBeenCreatedWhateverEndsTheTriesBehindALateAnswer) {
  LateService service(busy());
  const TlsServer server(service);
  const auto created = create_job(server);
  ASSERT_FALSE(created.has_value());
  EXPECT_THAT(created.error().message,
              AllOf(HasSubstr("UNAVAILABLE: busy"),
                    HasSubstr("the job may have been created: `caravan list -n team` shows it then")));
}

}  // namespace
}  // namespace caravan::service::testing
