#include "worker/agent/report_client.h"

#include <spdlog/spdlog.h>

#include <condition_variable>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "worker/agent/report_queue.h"
#include "worker/agent/stream.h"

namespace caravan::agent {
namespace {

using v1alpha1::JobReport;
using v1alpha1::ReportCommand;

class ReportStream final : public ReportClient,
                           private Stream<grpc::ClientBidiReactor<JobReport, ReportCommand>, JobReport,
                                          ReportCommand, ReportQueue> {
 public:
  ReportStream(const std::string& address, std::function<void()> on_stop)
      : on_stop_(std::move(on_stop)),
        channel_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        stub_(v1alpha1::JobReports::NewStub(channel_)) {
    context_.set_wait_for_ready(true);
  }
  ~ReportStream() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }

  void start() {
    stub_->async()->Report(&context_, this);
    read_next();
    StartCall();
  }

  void tell(JobReport report) override { send(std::move(report)); }

  bool wait_for_acknowledgement(std::chrono::milliseconds patience) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return acknowledged_ || done_; });
    return acknowledged_;
  }

 private:
  void received(ReportCommand& command) override {
    if (command.stop()) on_stop_();
    if (!command.acknowledge_result()) return;
    const std::scoped_lock lock(mutex_);
    acknowledged_ = true;
    changed_.notify_all();
  }
  void broken() override {}
  void OnDone(const grpc::Status& status) override {
    if (!status.ok()) spdlog::warn("nobody reads the job's reports any more: {}", status.error_message());
    const std::scoped_lock lock(mutex_);
    done_ = true;
    changed_.notify_all();
  }

  std::function<void()> on_stop_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1alpha1::JobReports::Stub> stub_;
  grpc::ClientContext context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool acknowledged_ = false;
  bool done_ = false;
};

}  // namespace

std::unique_ptr<ReportClient> ReportClient::connect(const std::string& address,
                                                    std::function<void()> on_stop) {
  auto stream = std::make_unique<ReportStream>(address, std::move(on_stop));
  stream->start();
  return stream;
}

}  // namespace caravan::agent
