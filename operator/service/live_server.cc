#include "operator/service/live_server.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "caravan/v1alpha1/live_metrics.grpc.pb.h"
#include "operator/service/pool_board.h"
#include "serving/outflow.h"
#include "serving/rpc_peers.h"

namespace caravan::controller {
namespace {

using v1alpha1::ListPoolsRequest;
using v1alpha1::ListPoolsResponse;
using v1alpha1::WatchStepsRequest;
using v1alpha1::WatchStepsResponse;

// A replica of the job service has one connection for all its readers (service/streams/stream_threads.h).
constexpr int kReadersOfAConnection = 1'024;
constexpr int kMessageBytes = 4 * 1024;  // a caller asks for one job
constexpr std::size_t kSamplesOfAMessage = 256;

grpc::Status not_for_you() {
  return {grpc::StatusCode::PERMISSION_DENIED, "only the job service is told"};
}

bool is_the_job_service(const grpc::CallbackServerContext& context) {
  const auto peer = context.auth_context();
  if (!peer || !peer->IsPeerAuthenticated()) return false;
  const auto names = peer->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
  return names.size() == 1 && names[0] == kLiveCaller;
}

class GrpcLiveServer final : public LiveServer, private v1alpha1::LiveMetrics::CallbackService {
 public:
  GrpcLiveServer(Config config, StepHistory& history, PoolBoard* pools)
      : config_(std::move(config)), history_(history), pools_(pools) {}

  ~GrpcLiveServer() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  Status listen() {
    grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_key_cert_pairs.push_back({config_.identity.key_pem, config_.identity.certificate_pem});
    tls.pem_root_certs = config_.authority_pem;
    grpc::ServerBuilder builder;
    set_bounds(builder, {.streams_of_a_connection = kReadersOfAConnection,
                         .message_bytes = kMessageBytes,
                         .memory_bytes = config_.memory_bytes});
    builder.AddListeningPort(config_.listen, grpc::SslServerCredentials(tls), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ && port_ != 0) return {};
    return bad_input(fmt::format(
        "--live-listen: cannot listen on {}: the address is in use or not this machine's", config_.listen));
  }

  int port() const override { return port_; }

 private:
  using Flow = Outflow<WatchStepsResponse>;

  grpc::ServerWriteReactor<WatchStepsResponse>* WatchSteps(grpc::CallbackServerContext* context,
                                                           const WatchStepsRequest* request) override {
    const auto flow = Flow::make([](int) {});
    if (!is_the_job_service(*context)) {
      flow->end(not_for_you());
      return flow.get();
    }
    const std::string& job = request->job_uid();
    flow->keep(history_.follow(job, [reader = std::weak_ptr(flow)] {
      if (const auto open = reader.lock()) open->wake();
    }));
    flow->flow([this, job, at = StepCursor{request->attempt(), request->step()},
                is_first = true](WatchStepsResponse& into) mutable {
      const std::vector<StepSample> samples = history_.after(job, at, kSamplesOfAMessage);
      for (const StepSample& sample : samples) write_sample(sample, *into.add_samples());
      if (!samples.empty()) at = samples.back().at;
      into.set_is_all(samples.size() < kSamplesOfAMessage);
      return std::exchange(is_first, false) || !samples.empty();
    });
    return flow.get();
  }

  grpc::ServerUnaryReactor* ListPools(grpc::CallbackServerContext* context, const ListPoolsRequest*,
                                      ListPoolsResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(is_the_job_service(*context) ? list_pools(*response) : not_for_you());
    return reactor;
  }

  grpc::Status list_pools(ListPoolsResponse& into) {
    if (pools_ == nullptr)
      return {grpc::StatusCode::FAILED_PRECONDITION, "the operator runs with --read-nodes=false"};
    auto pools = pools_->pools();
    if (!pools) return {grpc::StatusCode::UNAVAILABLE, "the nodes are still being read"};
    for (v1alpha1::NodePool& pool : *pools) *into.add_pools() = std::move(pool);
    return grpc::Status::OK;
  }

  const Config config_;
  StepHistory& history_;
  PoolBoard* const pools_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<LiveServer>> LiveServer::start(Config config, StepHistory& history, PoolBoard* pools) {
  auto server = std::make_unique<GrpcLiveServer>(std::move(config), history, pools);
  if (Status listening = server->listen(); !listening) return tl::unexpected(listening.error());
  return server;
}

}  // namespace caravan::controller
