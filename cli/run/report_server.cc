#include "cli/run/report_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <utility>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "common/bidi_stream.h"
#include "common/mailbox.h"

namespace caravan::cli {
namespace {

using v1alpha1::JobReport;
using v1alpha1::ReportCommand;

// The stream of one coordinator; deletes itself when gRPC is done with it.
class ReportStream final
    : public BidiStream<grpc::ServerBidiReactor<JobReport, ReportCommand>, ReportCommand, JobReport> {
 public:
  ReportStream(Mailbox<JobReport>& reports, std::function<void(ReportStream&)> on_done)
      : reports_(reports), on_done_(std::move(on_done)) {
    read_next();
  }

 private:
  void received(JobReport& report) override { reports_.post(std::move(report)); }
  void broken() override { Finish(grpc::Status::OK); }
  void OnDone() override {
    on_done_(*this);
    delete this;
  }

  Mailbox<JobReport>& reports_;
  const std::function<void(ReportStream&)> on_done_;
};

}  // namespace

struct ReportServer::Implementation final : public v1alpha1::JobReports::CallbackService {
  grpc::ServerBidiReactor<JobReport, ReportCommand>* Report(grpc::CallbackServerContext*) override {
    const std::scoped_lock lock(mutex);
    newest = new ReportStream(reports, [this](ReportStream& ended) {
      const std::scoped_lock changing(mutex);
      if (newest == &ended) newest = nullptr;
    });
    return newest;
  }

  Mailbox<JobReport> reports;
  std::mutex mutex;
  ReportStream* newest = nullptr;
  std::unique_ptr<grpc::Server> server;
};

Result<ReportServer> ReportServer::start(const std::string& address) {
  auto implementation = std::make_unique<Implementation>();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(implementation.get());
  implementation->server = builder.BuildAndStart();
  if (!implementation->server)
    return failure(fmt::format("cannot listen for progress reports on {}", address));
  return ReportServer(std::move(implementation));
}

ReportServer::ReportServer(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
ReportServer::ReportServer(ReportServer&&) noexcept = default;

ReportServer::~ReportServer() {
  // Streams that are still open are cancelled at once.
  if (implementation_) implementation_->server->Shutdown(std::chrono::system_clock::now());
}

int ReportServer::descriptor() const {
  return implementation_->reports.fd();
}
std::vector<JobReport> ReportServer::take() {
  return implementation_->reports.take();
}
bool ReportServer::send(const ReportCommand& command) {
  const std::scoped_lock lock(implementation_->mutex);
  if (implementation_->newest == nullptr) return false;
  implementation_->newest->send(command);
  return true;
}

}  // namespace caravan::cli
