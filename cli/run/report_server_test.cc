#include "cli/run/report_server.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "cli/run/agent_command.h"
#include "cli/run/work_directory.h"
#include "common/testing/await.h"
#include "common/testing/temporary_folder.h"

namespace caravan::cli {
namespace {

class ReportServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = WorkDirectory::create("");
    ASSERT_TRUE(folder) << folder.error().message;
    folder_.emplace(std::move(*folder));
    address_ = "unix:" + (folder_->sockets() / "reports.sock").string();
    auto server = ReportServer::start(address_);
    ASSERT_TRUE(server) << server.error().message;
    server_.emplace(std::move(*server));
    stub_ = v1alpha1::JobReports::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  }

  // Waits until there is something to take.
  std::vector<v1alpha1::JobReport> next() {
    pollfd arrived{.fd = server_->descriptor(), .events = POLLIN, .revents = 0};
    poll(&arrived, 1, -1);
    return server_->take();
  }

  static v1alpha1::JobReport attempt_started(int attempt) {
    v1alpha1::JobReport report;
    report.mutable_attempt_started()->set_attempt(attempt);
    return report;
  }

  std::optional<WorkDirectory> folder_;
  std::string address_;
  std::optional<ReportServer> server_;
  std::unique_ptr<v1alpha1::JobReports::Stub> stub_;
};

TEST_F(ReportServerTest, HandsReportsOutInOrder) {
  grpc::ClientContext context;
  const auto stream = stub_->Report(&context);
  for (int attempt = 1; attempt <= 50; ++attempt) ASSERT_TRUE(stream->Write(attempt_started(attempt)));
  int seen = 0;
  while (seen < 50) {
    for (const v1alpha1::JobReport& report : next()) EXPECT_EQ(report.attempt_started().attempt(), ++seen);
  }
  EXPECT_TRUE(server_->take().empty());
}

TEST_F(ReportServerTest, SendsCommandsToTheNewestCoordinator) {
  v1alpha1::ReportCommand stop;
  stop.set_stop(true);
  EXPECT_FALSE(server_->send(stop));

  grpc::ClientContext old_context;
  const auto old_stream = stub_->Report(&old_context);
  ASSERT_TRUE(old_stream->Write(attempt_started(1)));
  next();
  grpc::ClientContext new_context;
  const auto new_stream = stub_->Report(&new_context);
  ASSERT_TRUE(new_stream->Write(attempt_started(2)));
  next();
  EXPECT_TRUE(server_->send(stop));
  v1alpha1::ReportCommand received;
  ASSERT_TRUE(new_stream->Read(&received));
  EXPECT_TRUE(received.stop());
}

TEST_F(ReportServerTest, EndsWhileAStreamIsOpen) {
  grpc::ClientContext context;
  const auto stream = stub_->Report(&context);
  ASSERT_TRUE(stream->Write(attempt_started(1)));
  next();
  server_.reset();
  v1alpha1::ReportCommand received;
  EXPECT_FALSE(stream->Read(&received));
}

TEST_F(ReportServerTest, IsReachedInAFolderOfAnyName) {
  const test::TemporaryFolder folder;
  const std::filesystem::path named = folder.path() / "exp#3 50%?";
  std::filesystem::create_directory(named);
  const std::string address =
      reports_address({.work_directory = {}, .socket_directory = named, .metrics_port = {}});
  const auto server = ReportServer::start(address);
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_TRUE(std::filesystem::exists(named / "reports.sock"));
  const auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  EXPECT_TRUE(channel->WaitForConnected(std::chrono::system_clock::now() + test::kPatience));
}

TEST_F(ReportServerTest, ASocketThatCannotBeMadeIsAnError) {
  EXPECT_FALSE(ReportServer::start("unix:/does/not/exist/reports.sock"));
}

}  // namespace
}  // namespace caravan::cli
