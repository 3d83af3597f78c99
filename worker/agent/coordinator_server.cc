#include "worker/agent/coordinator_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <thread>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "common/bidi_stream.h"
#include "common/host_port.h"
#include "common/mailbox.h"
#include "proto/caravan/v1alpha1/identity.h"

namespace caravan::agent {
namespace {

using std::chrono::milliseconds;
using v1alpha1::AgentMessage;
using v1alpha1::CoordinatorMessage;

constexpr std::chrono::seconds kBetweenLimits{2};

class Connection;

// Every open stream by its number; streams come and go on gRPC's threads.
class Connections {
 public:
  explicit Connections(Mailbox<Input>& inputs) : inputs_(inputs) {}

  ConnectionId add(Connection& connection) {
    const std::scoped_lock lock(mutex_);
    open_[++last_id_] = &connection;
    return last_id_;
  }
  void remove(ConnectionId id) {
    const std::scoped_lock lock(mutex_);
    open_.erase(id);
    changed_.notify_all();
  }
  template <typename Action>
  void with(ConnectionId id, Action action) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = open_.find(id); found != open_.end()) action(*found->second);
  }
  void wait_until_empty(milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return open_.empty(); });
  }
  void post(Input input) { inputs_.post(std::move(input)); }

 private:
  Mailbox<Input>& inputs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ConnectionId, Connection*> open_;
  ConnectionId last_id_ = 0;
};

// Whether the caller's certificate is that of the node that it says it is.
bool is_of_node(const grpc::CallbackServerContext& context, const std::string& job_uid, int node) {
  const auto identities = context.auth_context()->FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME);
  const std::string wanted = agent_identity(job_uid, node);
  return std::any_of(identities.begin(), identities.end(), [&](const auto& one) { return one == wanted; });
}

// The server's end of one agent's stream; deletes itself when gRPC is done with it.
class Connection final : public BidiStream<grpc::ServerBidiReactor<AgentMessage, CoordinatorMessage>,
                                           CoordinatorMessage, AgentMessage> {
 public:
  // verified_uid: of the job whose certificates agents show; empty: they show none.
  Connection(Connections& all, grpc::CallbackServerContext& context, const std::string& verified_uid)
      : all_(all), context_(context), verified_uid_(verified_uid), id_(all.add(*this)) {
    read_next();
  }

  void cancel() { context_.TryCancel(); }

 private:
  void received(AgentMessage& message) override {
    if (message.has_hello() && !verified_uid_.empty() &&
        !is_of_node(context_, verified_uid_, message.hello().node())) {
      spdlog::warn("an agent says that it is node {}, but its certificate does not; it is not let in",
                   message.hello().node());
      return cancel();
    }
    all_.post(FromAgent{id_, std::move(message)});
  }
  void broken() override {
    all_.post(ConnectionLost{id_});
    Finish(grpc::Status::OK);
  }
  void OnDone() override {
    all_.remove(id_);
    delete this;
  }

  Connections& all_;
  grpc::CallbackServerContext& context_;
  const std::string& verified_uid_;
  const ConnectionId id_;
};

class Service final : public v1alpha1::Coordinator::CallbackService {
 public:
  explicit Service(Connections& connections) : connections_(connections) {}

  void verify_agents_of(const std::string& job_uid) { verified_uid_ = job_uid; }

  grpc::ServerBidiReactor<AgentMessage, CoordinatorMessage>* Join(
      grpc::CallbackServerContext* context) override {
    return new Connection(connections_, *context, verified_uid_);
  }

 private:
  Connections& connections_;
  std::string verified_uid_;
};

class Server final : public CoordinatorServer {
 public:
  Server(const CoordinatorConfig& config, OnReport on_report, ReadLimits read_limits)
      : state_(config, std::chrono::steady_clock::now()),
        tick_(config.heartbeat / 4),
        job_uid_(config.job_uid),
        on_report_(std::move(on_report)),
        read_limits_(std::move(read_limits)) {}

  ~Server() override {
    thread_.request_stop();
    inputs_.post(Tick{});
    if (thread_.joinable()) thread_.join();
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  Status listen(const Endpoint& endpoint) {
    const std::string& where = endpoint.listen;
    grpc::ServerBuilder builder;
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    int port = 0;
    builder.AddListeningPort(where, credentials_of(endpoint), &port);
    if (endpoint.identity) service_.verify_agents_of(job_uid_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    const bool is_unix = where.rfind("unix:", 0) == 0;
    if (!server_ || (!is_unix && port == 0)) {
      return bad_input(
          fmt::format("--listen: cannot listen on {}: the address is in use or not this machine's", where));
    }
    address_ = is_unix ? where : fmt::format("{}:{}", host_of(where), port);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    return {};
  }

  const std::string& address() const override { return address_; }
  void request_stop() override { inputs_.post(StopRequested{}); }
  void request_save(const std::string& request) override { inputs_.post(SaveRequested{request}); }
  void wait_for_agents(milliseconds patience) override { connections_.wait_until_empty(patience); }

 private:
  static std::shared_ptr<grpc::ServerCredentials> credentials_of(const Endpoint& endpoint) {
    if (!endpoint.identity) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = endpoint.identity->authority;
    options.pem_key_cert_pairs.push_back({endpoint.identity->key, endpoint.identity->certificate});
    return grpc::SslServerCredentials(options);
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd ready{inputs_.fd(), POLLIN, 0};
      poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(1, tick_.count())));
      follow_limits();
      for (const Input& input : inputs_.take()) take(input);
      take(Tick{});
    }
    spdlog::debug("the coordinator refused {} messages and looked at {} nodes and ranks",
                  state_.refused_messages(), state_.looked_at());
  }

  void follow_limits() {
    const TimePoint now = std::chrono::steady_clock::now();
    if (!read_limits_ || now < limits_due_) return;
    limits_due_ = now + kBetweenLimits;
    const Result<Limits> limits = read_limits_();
    if (limits) take(*limits);
    std::string problem = limits ? "" : limits.error().message;
    if (problem != limits_problem_ && !problem.empty())
      spdlog::warn("what may change while the job runs stays as it was: {}", problem);
    limits_problem_ = std::move(problem);
  }

  void take(const Input& input) {
    for (Effect& effect : state_.step(input, std::chrono::steady_clock::now())) {
      std::visit([this](auto& consequence) { carry_out(consequence); }, effect);
    }
  }

  void carry_out(const SendTo& effect) {
    for (const ConnectionId connection : effect.connections)
      connections_.with(connection, [&](Connection& c) { c.send(effect.message); });
  }
  void carry_out(const Disconnect& effect) {
    spdlog::warn("an agent is disconnected: {}", effect.why);
    connections_.with(effect.connection, [](Connection& c) { c.cancel(); });
  }
  void carry_out(Tell& effect) { on_report_(std::move(effect.report)); }
  void carry_out(const Warn& effect) { spdlog::warn("{}", effect.what); }
  void carry_out(const EndOfJob& effect) { spdlog::info("the job ends with exit code {}", effect.exit_code); }

  CoordinatorState state_;
  const milliseconds tick_;
  const std::string job_uid_;
  const OnReport on_report_;
  const ReadLimits read_limits_;
  std::string limits_problem_;
  TimePoint limits_due_;
  Mailbox<Input> inputs_;
  Connections connections_{inputs_};
  Service service_{connections_};
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<CoordinatorServer>> CoordinatorServer::start(const CoordinatorConfig& config,
                                                                    const Endpoint& endpoint,
                                                                    OnReport on_report,
                                                                    ReadLimits read_limits) {
  auto server = std::make_unique<Server>(config, std::move(on_report), std::move(read_limits));
  if (Status listening = server->listen(endpoint); !listening) return tl::unexpected(listening.error());
  return server;
}

}  // namespace caravan::agent
