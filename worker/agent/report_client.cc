#include "worker/agent/report_client.h"

#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <thread>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "common/bidi_stream.h"
#include "common/file_contents.h"
#include "common/rpc_status.h"
#include "worker/agent/backoff.h"
#include "worker/agent/channel_arguments.h"
#include "worker/agent/defaults.h"
#include "worker/agent/report_backlog.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using v1alpha1::JobReport;
using v1alpha1::ReportCommand;

// The reader on a cluster shows where the job stands: of steps that it has not read, the last ones will do.
constexpr std::size_t kStepsForAStatus = 2;

bool over_tls(const ReportTarget& target) {
  return !target.authority_file.empty();
}

grpc::ChannelArguments channel_arguments(const ReportTarget& target) {
  grpc::ChannelArguments arguments = base_channel_arguments(kConnectTimeout);
  if (!over_tls(target)) return arguments;  // a reader on this machine cannot vanish
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(target.ping_period.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(target.ping_period.count()));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // any number of them
  return arguments;
}

// One connection to the reader.
class ReportConnection final : private BidiStream<grpc::ClientBidiReactor<JobReport, ReportCommand>,
                                                  JobReport, ReportCommand, ReportQueue> {
 public:
  struct Events {
    std::function<void(const ReportCommand&)> command;
    std::function<void(const grpc::Status&)> done;
  };

  ReportConnection(const ReportTarget& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                   const std::string& token, Events events)
      : BidiStream(ReportQueue(over_tls(target) ? kStepsForAStatus : ReportQueue::kMaxSteps)),
        events_(std::move(events)) {
    channel_ = grpc::CreateCustomChannel(target.address, credentials, channel_arguments(target));
    stub_ = v1alpha1::JobReports::NewStub(channel_);
    if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
    context_.set_wait_for_ready(!over_tls(target));
    stub_->async()->Report(&context_, this);
    read_next();
    StartCall();
  }
  ~ReportConnection() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
  }

  void tell(JobReport report) { send(std::move(report)); }
  using BidiStream::wait_until_sent;

 private:
  void received(ReportCommand& command) override { events_.command(command); }
  void broken() override {}
  void OnDone(const grpc::Status& status) override {
    events_.done(status);
    const std::scoped_lock lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

  Events events_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1alpha1::JobReports::Stub> stub_;
  grpc::ClientContext context_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
};

class Client final : public ReportClient {
 public:
  Client(ReportTarget target, Commands commands)
      : target_(std::move(target)), commands_(std::move(commands)) {
    if (!over_tls(target_)) {
      stream_ = open(grpc::InsecureChannelCredentials(), "");
    } else {
      thread_ = std::jthread([this](const std::stop_token& stop) { keep_connected(stop); });
    }
  }
  ~Client() override {
    thread_ = {};
    stream_.reset();
  }

  void tell(JobReport report) override {
    // The reader on a cluster takes some reports a second and has no use for one of each rank.
    if (over_tls(target_) && report.has_rank_started()) return;
    const std::scoped_lock lock(mutex_);
    if (over_tls(target_)) {
      if (report.has_step()) keep_one_peak(*report.mutable_step());
      latest_.add(report, std::chrono::steady_clock::now());
    }
    if (stream_) stream_->tell(std::move(report));
  }

  void wait_until_sent(milliseconds patience) override {
    const std::scoped_lock lock(mutex_);
    if (stream_) stream_->wait_until_sent(patience);
  }

  bool wait_for_acknowledgement(milliseconds patience) override {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return acknowledged_ || (lost_ && !over_tls(target_)); });
    return acknowledged_;
  }

 private:
  std::unique_ptr<ReportConnection> open(const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                         const std::string& token) {
    return std::make_unique<ReportConnection>(
        target_, credentials, token,
        ReportConnection::Events{.command = [this](const ReportCommand& command) { obey(command); },
                                 .done = [this](const grpc::Status& status) { lose(status); }});
  }

  void obey(const ReportCommand& command) {
    if (command.stop()) commands_.stop();
    if (command.save()) commands_.save(command.request());
    const std::scoped_lock lock(mutex_);
    acknowledged_ = acknowledged_ || command.acknowledge_result();
    changed_.notify_all();
  }

  void lose(const grpc::Status& status) {
    const std::scoped_lock lock(mutex_);
    // Others report too: the reader will have time for this job again.
    crowded_out_ = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    if (!status.ok() && !acknowledged_)
      spdlog::log(crowded_out_ ? spdlog::level::info : spdlog::level::warn,
                  "nobody reads the job's reports: {}", rpc_status_text(status));
    lost_ = true;
    changed_.notify_all();
  }

  void keep_connected(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    Backoff pauses(target_.first_pause, target_.longest_pause);
    while (!stop.stop_requested()) {
      lost_ = crowded_out_ = false;
      lock.unlock();
      auto stream = open_over_tls();
      lock.lock();
      for (JobReport& report : latest_.reports(std::chrono::steady_clock::now())) {
        if (stream) stream->tell(std::move(report));
      }
      stream_ = std::move(stream);
      const auto since = std::chrono::steady_clock::now();
      if (stream_) changed_.wait(lock, stop, [this] { return lost_; });
      if (std::chrono::steady_clock::now() - since > target_.longest_pause) {  // it was heard
        pauses.reset();
        latest_.note_read();
      }
      if (crowded_out_) pauses.lengthen();
      auto old = std::move(stream_);
      lock.unlock();
      old.reset();  // waits for its last call back
      lock.lock();
      changed_.wait_for(lock, stop, pauses.next(), [] { return false; });
    }
  }

  // Null when a file cannot be read now.
  std::unique_ptr<ReportConnection> open_over_tls() {
    const auto authority = file_contents(target_.authority_file);
    const auto token =
        target_.token_file.empty() ? Result<std::string>("") : file_contents(target_.token_file);
    if (!authority || !token) {
      spdlog::warn("nobody is told of the job yet: {}", (authority ? token : authority).error().message);
      return nullptr;
    }
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = *authority;
    return open(grpc::SslCredentials(options), token->substr(0, token->find_last_not_of(" \r\n") + 1));
  }

  const ReportTarget target_;
  const Commands commands_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  LatestReports latest_;
  bool acknowledged_ = false;
  bool lost_ = false;
  bool crowded_out_ = false;  // when it was lost last
  std::unique_ptr<ReportConnection> stream_;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<ReportClient> ReportClient::connect(const ReportTarget& target, Commands commands) {
  return std::make_unique<Client>(target, std::move(commands));
}

}  // namespace caravan::agent
