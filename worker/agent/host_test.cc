// Commands that arrive while node 0's part comes and goes; sanitizers judge.
#include "worker/agent/host.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "common/testing/await.h"
#include "common/testing/temporary_folder.h"
#include "worker/agent/testing/scripted_job.h"

namespace caravan::agent {
namespace {

using v1alpha1::JobReport;
using v1alpha1::ReportCommand;

// Says stop without end.
class Stopper final : public v1alpha1::JobReports::Service {
 public:
  grpc::Status Report(grpc::ServerContext*,
                      grpc::ServerReaderWriter<ReportCommand, JobReport>* stream) override {
    ReportCommand command;
    command.set_stop(true);
    while (stream->Write(command)) ++told_;
    return grpc::Status::OK;
  }
  int told() const { return told_; }

 private:
  std::atomic<int> told_{0};
};

AgentOptions first_node(const test::TemporaryFolder& folder) {
  AgentOptions options;
  options.node = 0;
  options.listen = "unix:" + (folder.path() / "coordinator").string();
  return options;
}

TEST(Host, MayGoWhileItIsToldToStop) {
  const test::TemporaryFolder folder;
  AgentOptions options = first_node(folder);
  options.reports = "unix:" + (folder.path() / "reports").string();
  Stopper stopper;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.reports, grpc::InsecureServerCredentials());
  builder.RegisterService(&stopper);
  const auto server = builder.BuildAndStart();
  for (int round = 0; round < 20; ++round) {
    const int before = stopper.told();
    Host host;
    ASSERT_TRUE(host.start(testing::scripted_job(1, 1, 5), options, std::nullopt));
    while (stopper.told() < before + 100) std::this_thread::yield();
  }
}

TEST(Host, RemembersThatItWasToldToStopBeforeThereWasACoordinator) {
  const test::TemporaryFolder folder;
  AgentOptions options = first_node(folder);
  options.result_file = folder.path("result");
  Host host;
  host.stop_job();
  ASSERT_TRUE(host.start(testing::scripted_job(1, 1, 5), options, std::nullopt));
  test::await([&] { return std::filesystem::exists(options.result_file); });
}

// A disk may be full.
TEST(Host, WritesItsAddressAsAWholeOrNotAtAll) {
  const test::TemporaryFolder folder;
  AgentOptions options = first_node(folder);
  options.coordinator_address_file = folder.path("address");
  std::filesystem::create_symlink("/dev/full", folder.path("address.partial"));
  Host host;
  const Status started = host.start(testing::scripted_job(1, 1, 5), options, std::nullopt);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, ::testing::EndsWith("/address: No space left on device"));
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(folder.path("address"))));
}

}  // namespace
}  // namespace caravan::agent
