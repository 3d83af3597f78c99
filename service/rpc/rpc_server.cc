#include "service/rpc/rpc_server.h"

#include <fmt/format.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <mutex>

#include "caravan/v1alpha1/job_service.grpc.pb.h"
#include "service/audited_call.h"
#include "service/rpc/method_table.h"
#include "service/rpc/unary_call.h"
#include "serving/outflow.h"
#include "serving/peer.h"
#include "serving/rpc_peers.h"

namespace caravan::service {
namespace {

using namespace v1alpha1;

constexpr char kServiceName[] = "caravan.v1alpha1.JobService";

grpc::Status status_for(const Fault& whole) {
  const Fault fault = fit_for_headers(whole);
  return {static_cast<grpc::StatusCode>(fault.code), fault.message, status_of(fault).SerializeAsString()};
}

Credential credential_of(const grpc::CallbackServerContext& context) {
  Credential credential{.token = bearer_token(context), .host = host_of_peer(context.peer())};
  const auto peer = context.auth_context();
  if (!peer || !peer->IsPeerAuthenticated()) return credential;
  const auto certificates = peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (!certificates.empty())
    credential.certificate_pem.assign(certificates[0].data(), certificates[0].size());
  return credential;
}

// Messages of WatchJobs are serialized once for all readers.
using CallbackService = JobService::WithRawCallbackMethod_WatchJobs<JobService::CallbackService>;

class GrpcServer final : public RpcServer, private CallbackService {
 public:
  GrpcServer(Config config, Clock& clock, Gate& gate, Shares& shares, Audit& audit, Methods& methods,
             OnHandled on_handled)
      : config_(std::move(config)),
        clock_(clock),
        gate_(gate),
        shares_(shares),
        audit_(audit),
        methods_(method_table(methods)),
        watch_(methods.watch),
        on_handled_(std::move(on_handled)) {}

  ~GrpcServer() override { stop(std::chrono::milliseconds(0)); }

  void stop(std::chrono::milliseconds grace) override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + grace);
    server_.reset();
  }

  Status listen() {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    grpc::ServerBuilder builder;
    const Limits& limits = config_.limits;
    set_bounds(builder, {.streams_of_a_connection = limits.streams_of_a_connection,
                         .message_bytes = limits.message_bytes,
                         .memory_bytes = limits.memory_bytes});
    builder.AddListeningPort(config_.listen, make_server_credentials(config_.tls), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ && port_ != 0) return {};
    return bad_input(fmt::format("--listen: cannot listen on {}: the address is in use or not this machine's",
                                 config_.listen));
  }

  int port() const override { return port_; }
  void set_serving(bool serving) override {
    server_->GetHealthCheckService()->SetServingStatus(kServiceName, serving);
    server_->GetHealthCheckService()->SetServingStatus("", serving);
  }

 private:
  using Reactor = grpc::ServerUnaryReactor;
  using Context = grpc::CallbackServerContext;

  Clock::TimePoint deadline_of(const Context& context) const {
    const auto left = context.deadline() - std::chrono::system_clock::now();
    const auto longest = std::chrono::duration_cast<Clock::Duration>(config_.limits.longest_call);
    return clock_.now() + std::min(std::chrono::duration_cast<Clock::Duration>(left), longest);
  }

  std::function<void(int)> handled(const std::string& method) const {
    return
        [this, method, began = clock_.now()](int code) { on_handled_(method, code, clock_.now() - began); };
  }

  // The method of that name, by a thread of the gate, unless that refuses the call.
  Reactor* unary(Context* context, const char* name, const Message* request, Message* response) {
    const auto reactor = UnaryCall::make(handled(name));
    const auto& method = std::get<UnaryMethod>(methods_.at(name));
    gate_.enter(credential_of(*context), {.stop = reactor->stop(), .deadline = deadline_of(*context)},
                [=, this, &method](const Call& call, const Answer<void>& admitted) {
                  const Answer<MessagePtr> answer =
                      admitted ? method.run(call, *request) : tl::unexpected(admitted.error());
                  if (method.changes)
                    audit_call(audit_, call, audited_call(name, *request), admitted.has_value(), answer);
                  if (!answer) return reactor->finish(status_for(answer.error()));
                  response->GetReflection()->Swap(answer->get(), response);
                  reactor->finish(grpc::Status::OK);
                });
    return reactor.get();
  }

  Reactor* GetJob(Context* context, const GetJobRequest* request, Job* response) override {
    return unary(context, "GetJob", request, response);
  }
  Reactor* ListJobs(Context* context, const ListJobsRequest* request, ListJobsResponse* response) override {
    return unary(context, "ListJobs", request, response);
  }
  Reactor* ListCheckpoints(Context* context, const ListCheckpointsRequest* request,
                           ListCheckpointsResponse* response) override {
    return unary(context, "ListCheckpoints", request, response);
  }
  Reactor* ListEvents(Context* context, const ListEventsRequest* request,
                      ListEventsResponse* response) override {
    return unary(context, "ListEvents", request, response);
  }
  Reactor* EstimateJob(Context* context, const EstimateJobRequest* request,
                       EstimateJobResponse* response) override {
    return unary(context, "EstimateJob", request, response);
  }
  Reactor* GetCapacity(Context* context, const GetCapacityRequest* request, Capacity* response) override {
    return unary(context, "GetCapacity", request, response);
  }
  Reactor* CreateJob(Context* context, const CreateJobRequest* request, Job* response) override {
    return unary(context, "CreateJob", request, response);
  }
  Reactor* SuspendJob(Context* context, const SuspendJobRequest* request, Job* response) override {
    return unary(context, "SuspendJob", request, response);
  }
  Reactor* ResumeJob(Context* context, const ResumeJobRequest* request, Job* response) override {
    return unary(context, "ResumeJob", request, response);
  }
  Reactor* CancelJob(Context* context, const CancelJobRequest* request, Job* response) override {
    return unary(context, "CancelJob", request, response);
  }
  Reactor* CheckpointNow(Context* context, const CheckpointNowRequest* request, Job* response) override {
    return unary(context, "CheckpointNow", request, response);
  }
  Reactor* DeleteJob(Context* context, const DeleteJobRequest* request,
                     DeleteJobResponse* response) override {
    return unary(context, "DeleteJob", request, response);
  }

  using News = std::function<void()>;
  using End = StreamMethod::End;

  // begin: Answer<Outflow<Response>::Next>(const Call&, const Request&, News, End), by a thread of the gate.
  template <typename Response, typename Request, typename Begin>
  grpc::ServerWriteReactor<Response>* stream(Context* context, const std::string& name,
                                             const Request* request, Begin begin) {
    const auto flow = Outflow<Response>::make(handled(name));
    gate_.enter(credential_of(*context),
                {.stop = flow->stop(), .deadline = clock_.now() + config_.limits.longest_call},
                // A copy: a stream may be over before its turn comes.
                [this, flow, begin, request = *request](const Call& call, const Answer<void>& admitted) {
                  const Answer<void> begun = admitted ? open(call, request, flow, begin) : admitted;
                  if (!begun) flow->end(status_for(begun.error()));
                });
    return flow.get();
  }

  template <typename Response, typename Request, typename Begin>
  Answer<void> open(const Call& call, const Request& request, const std::shared_ptr<Outflow<Response>>& flow,
                    const Begin& begin) {
    auto ticket = shares_.take_stream(call.caller.user);
    if (!ticket) return tl::unexpected(ticket.error());
    flow->keep(std::move(*ticket));
    const std::weak_ptr<Outflow<Response>> weak = flow;
    const News news = [weak] {
      if (const auto held = weak.lock()) held->wake();
    };
    const End end = [weak](const Fault* fault) {
      if (const auto held = weak.lock()) held->end(fault == nullptr ? grpc::Status::OK : status_for(*fault));
    };
    Answer<typename Outflow<Response>::Next> next = begin(call, request, news, end);
    if (!next) return tl::unexpected(next.error());
    flow->flow(*std::move(next));
    return {};
  }

  // The method of that name.
  template <typename Response, typename Request>
  grpc::ServerWriteReactor<Response>* stream(Context* context, const char* name, const Request* request) {
    const auto& method = std::get<StreamMethod>(methods_.at(name));
    return stream<Response>(context, name, request,
                            [&method](const Call& call, const Message& of, const News& news, const End& end) {
                              return method.open(call, of, news, end).map([](StreamMethod::Next next) {
                                return typename Outflow<Response>::Next(std::move(next));
                              });
                            });
  }

  static Outflow<grpc::ByteBuffer>::Next serialized_next_of(std::shared_ptr<JobWatch> watch) {
    return [watch = std::move(watch)](grpc::ByteBuffer& into) {
      std::string message;
      if (!watch->next(message)) return false;
      const grpc::Slice slice(message);
      into = grpc::ByteBuffer(&slice, 1);
      return true;
    };
  }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* WatchJobs(Context* context,
                                                        const grpc::ByteBuffer* message) override {
    WatchJobsRequest request;
    grpc::ByteBuffer left = *message;
    const auto read = grpc::SerializationTraits<WatchJobsRequest>::Deserialize(&left, &request);
    return stream<grpc::ByteBuffer>(
        context, "WatchJobs", &request,
        [this, read](const Call& call, const auto& of, const News& news,
                     const End& end) -> Answer<Outflow<grpc::ByteBuffer>::Next> {
          if (!read.ok()) return fault(Code::kInvalidArgument, faults::kBadRequest, read.error_message());
          return watch_.watch_jobs(call, of, news, [end](const Fault& fault) { end(&fault); })
              .map(serialized_next_of);
        });
  }
  grpc::ServerWriteReactor<StreamLogsResponse>* StreamLogs(Context* context,
                                                           const StreamLogsRequest* request) override {
    return stream<StreamLogsResponse>(context, "StreamLogs", request);
  }
  grpc::ServerWriteReactor<StreamMetricsResponse>* StreamMetrics(
      Context* context, const StreamMetricsRequest* request) override {
    return stream<StreamMetricsResponse>(context, "StreamMetrics", request);
  }

  const Config config_;
  Clock& clock_;
  Gate& gate_;
  Shares& shares_;
  Audit& audit_;
  const MethodTable methods_;
  WatchMethods& watch_;
  const OnHandled on_handled_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

Result<std::unique_ptr<RpcServer>> RpcServer::start(Config config, Clock& clock, Gate& gate, Shares& shares,
                                                    Audit& audit, Methods& methods, OnHandled on_handled) {
  auto server = std::make_unique<GrpcServer>(std::move(config), clock, gate, shares, audit, methods,
                                             std::move(on_handled));
  if (Status listening = server->listen(); !listening) return tl::unexpected(listening.error());
  return server;
}

}  // namespace caravan::service
