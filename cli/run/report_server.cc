#include "cli/run/report_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/eventfd.h>

#include <chrono>
#include <mutex>
#include <utility>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "common/unique_fd.h"

namespace caravan::cli {
namespace {

using Stream = grpc::ServerReaderWriter<v1alpha1::ReportCommand, v1alpha1::JobReport>;

// What gRPC's threads and the owner share.
class Mailbox final : public v1alpha1::JobReports::Service {
 public:
  explicit Mailbox(UniqueFd arrived) : arrived_(std::move(arrived)) {}

  grpc::Status Report(grpc::ServerContext*, Stream* stream) override {
    {
      const std::lock_guard lock(mutex_);
      coordinator_ = stream;
    }
    v1alpha1::JobReport report;
    while (stream->Read(&report)) put(std::move(report));
    const std::lock_guard lock(mutex_);
    if (coordinator_ == stream) coordinator_ = nullptr;
    return grpc::Status::OK;
  }

  int descriptor() const { return arrived_.get(); }

  std::vector<v1alpha1::JobReport> take() {
    const std::lock_guard lock(mutex_);
    eventfd_t ignored = 0;
    eventfd_read(arrived_.get(), &ignored);
    return std::exchange(reports_, {});
  }

  bool send(const v1alpha1::ReportCommand& command) {
    const std::lock_guard lock(mutex_);
    return coordinator_ != nullptr && coordinator_->Write(command);
  }

 private:
  void put(v1alpha1::JobReport report) {
    const std::lock_guard lock(mutex_);
    reports_.push_back(std::move(report));
    eventfd_write(arrived_.get(), 1);
  }

  std::mutex mutex_;
  std::vector<v1alpha1::JobReport> reports_;
  Stream* coordinator_ = nullptr;
  const UniqueFd arrived_;
};

}  // namespace

struct ReportServer::Implementation {
  explicit Implementation(UniqueFd arrived) : mailbox(std::move(arrived)) {}

  Mailbox mailbox;
  std::unique_ptr<grpc::Server> server;
};

Result<ReportServer> ReportServer::start(const std::string& address) {
  UniqueFd arrived(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!arrived) return failure("cannot make an eventfd for progress reports");
  auto implementation = std::make_unique<Implementation>(std::move(arrived));
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&implementation->mailbox);
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
  return implementation_->mailbox.descriptor();
}
std::vector<v1alpha1::JobReport> ReportServer::take() {
  return implementation_->mailbox.take();
}
bool ReportServer::send(const v1alpha1::ReportCommand& command) {
  return implementation_->mailbox.send(command);
}

}  // namespace caravan::cli
