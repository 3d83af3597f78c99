#include "operator/service/report_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "operator/log.h"

namespace caravan::controller {
namespace {

using v1alpha1::JobReport;
using v1alpha1::ReportCommand;

constexpr int kFastestPings = 500;  // milliseconds; agents ping to learn that a leader is gone

// Runs what may block, one after another.
class Worker {
 public:
  Worker() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void post(std::function<void()> task) {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;
  std::jthread thread_;
};

std::string token_of(const grpc::CallbackServerContext& context) {
  constexpr std::string_view kBearer = "Bearer ";
  const auto found = context.client_metadata().find("authorization");
  if (found == context.client_metadata().end()) return "";
  const std::string_view value(found->second.data(), found->second.size());
  return value.rfind(kBearer, 0) == 0 ? std::string(value.substr(kBearer.size())) : "";
}

// One coordinator's stream; deletes itself when gRPC is done with it, which is never before finish().
class Stream final : public grpc::ServerBidiReactor<JobReport, ReportCommand> {
 public:
  Stream(ProgressBoard& board, const ReportServer::OnHandled& on_handled)
      : board_(board), on_handled_(on_handled) {}

  void admit(Result<Reporter> reporter) {
    if (!reporter) {
      log_line(spdlog::level::warn, "a reporter was refused: " + reporter.error().message);
      code_ = "UNAUTHENTICATED";
      return Finish({grpc::StatusCode::UNAUTHENTICATED, reporter.error().message});
    }
    reporter_ = std::move(*reporter);
    log_job(spdlog::level::info, reporter_.job, "the coordinator reports");
    StartRead(&report_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    const bool is_known = board_.take(reporter_, report_);
    if (!is_known && !was_known_) return refuse();
    was_known_ = true;  // one that is gone since never comes back: let its pod have its last words
    if (report_.has_result() && !acknowledged_) {
      acknowledged_ = true;
      command_.set_acknowledge_result(true);
      StartWrite(&command_);
    }
    StartRead(&report_);
  }
  // The coordinator comes again and tells all that it told.
  void refuse() {
    code_ = "NOT_FOUND";
    Finish({grpc::StatusCode::NOT_FOUND,
            fmt::format("job {} is gone, or not known yet", to_string(reporter_.job))});
  }
  void OnDone() override {
    on_handled_(code_, std::chrono::steady_clock::now() - began_);
    delete this;
  }

  ProgressBoard& board_;
  const ReportServer::OnHandled& on_handled_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::string code_ = "OK";
  Reporter reporter_;
  JobReport report_;
  ReportCommand command_;
  bool acknowledged_ = false;
  bool was_known_ = false;
};

class Server final : public ReportServer, private v1alpha1::JobReports::CallbackService {
 public:
  Server(Authenticate authenticate, ProgressBoard& board, OnHandled on_handled)
      : authenticate_(std::move(authenticate)), board_(board), on_handled_(std::move(on_handled)) {}

  // Ends every stream; those that are being authenticated need the worker for that.
  ~Server() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  Status listen(const std::string& where, const KeyPair& identity) {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    tls.pem_key_cert_pairs.push_back({identity.key_pem, identity.certificate_pem});
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kFastestPings);
    builder.AddListeningPort(where, grpc::SslServerCredentials(tls), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ && port_ != 0) return {};
    return bad_input(fmt::format(
        "--reports-listen: cannot listen on {}: the address is in use or not this machine's", where));
  }

  int port() const override { return port_; }

 private:
  grpc::ServerBidiReactor<JobReport, ReportCommand>* Report(grpc::CallbackServerContext* context) override {
    auto* stream = new Stream(board_, on_handled_);
    worker_.post([this, stream, token = token_of(*context)] {
      stream->admit(token.empty() ? Result<Reporter>(failure("it showed no token")) : authenticate_(token));
    });
    return stream;
  }

  Authenticate authenticate_;
  ProgressBoard& board_;
  OnHandled on_handled_;
  Worker worker_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<ReportServer>> ReportServer::start(const std::string& listen, const KeyPair& identity,
                                                          Authenticate authenticate, ProgressBoard& board,
                                                          OnHandled on_handled) {
  auto server = std::make_unique<Server>(std::move(authenticate), board, std::move(on_handled));
  if (Status listening = server->listen(listen, identity); !listening)
    return tl::unexpected(listening.error());
  return server;
}

}  // namespace caravan::controller
