#include "operator/service/cluster_report_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "operator/service/pod_report_stream.h"
#include "serving/peer.h"
#include "serving/rpc_peers.h"

namespace caravan::controller {
namespace {

using v1alpha1::JobReport;
using v1alpha1::ReportCommand;

constexpr std::chrono::milliseconds kFastestPings{500};      // agents ping to learn that a leader is gone
constexpr std::chrono::milliseconds kIdleConnection{5'000};  // one without a stream
constexpr int kStreamsOfAConnection = 4;                     // an agent has one
constexpr std::size_t kLongestToken = std::size_t{16} << 10;
constexpr int kLookaheadBytes = 8 * 1024;  // what a peer may send before it is read

class GrpcReportServer final : public ClusterReportServer, private v1alpha1::JobReports::CallbackService {
 public:
  GrpcReportServer(Config config, Clock& clock, ProgressBoard& board, Observer& observer)
      : config_(std::move(config)),
        clock_(clock),
        places_(config_.limits.places),
        around_{clock, board, observer, places_},
        reviews_(clock, config_.limits.reviews) {}

  // Every call is cancelled, which ends its stream.
  ~GrpcReportServer() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  Status listen() {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    tls.pem_key_cert_pairs.push_back({config_.identity.key_pem, config_.identity.certificate_pem});
    grpc::ServerBuilder builder;
    bound_peers(builder);
    builder.AddListeningPort(config_.listen, grpc::SslServerCredentials(tls), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ && port_ != 0) return {};
    return bad_input(
        fmt::format("--reports-listen: cannot listen on {}: the address is in use or not this machine's",
                    config_.listen));
  }

  int port() const override { return port_; }
  Clock::Duration longest_review() const override { return reviews_.longest_run(); }

 private:
  void bound_peers(grpc::ServerBuilder& builder) const {
    const Limits& limits = config_.limits;
    set_bounds(builder, {.fastest_pings = kFastestPings,
                         .idle_connection = kIdleConnection,
                         .streams_of_a_connection = kStreamsOfAConnection,
                         .message_bytes = limits.message_bytes,
                         .memory_bytes = limits.memory_bytes});
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // would look further ahead
  }

  grpc::ServerBidiReactor<JobReport, ReportCommand>* Report(grpc::CallbackServerContext* context) override {
    const std::shared_ptr<PodReportStream> stream = PodReportStream::make(around_);
    std::string token = bearer_token(*context);
    if (token.empty() || token.size() > kLongestToken) {
      stream->admit(failure("it showed no token"));
      return stream.get();
    }
    const bool waits = reviews_.post({host_of_peer(context->peer())},
                                     [this, stream, token = std::move(token)](const std::stop_token& stop) {
                                       if (stream->has_ended()) return;
                                       const CallContext review{
                                           .stop = stop, .deadline = clock_.now() + config_.limits.review};
                                       stream->admit(config_.authenticate(review, token));
                                     });
    if (!waits) stream->end(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many wait to be authenticated");
    return stream.get();
  }

  const Config config_;
  Clock& clock_;
  ReportPlaces places_;
  StreamSurroundings around_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  TaskPool reviews_;  // ends before the server, and after its destructor has ended all streams
};

}  // namespace

Result<std::unique_ptr<ClusterReportServer>> ClusterReportServer::start(Config config, Clock& clock,
                                                                        ProgressBoard& board,
                                                                        Observer& observer) {
  auto server = std::make_unique<GrpcReportServer>(std::move(config), clock, board, observer);
  if (Status listening = server->listen(); !listening) return tl::unexpected(listening.error());
  return server;
}

}  // namespace caravan::controller
