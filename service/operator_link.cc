#include "service/operator_link.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <array>

#include "common/file_contents.h"
#include "common/rpc_status.h"
#include "service/rpc/tls_files.h"

namespace caravan::service {
namespace {

using v1alpha1::WatchStepsRequest;
using v1alpha1::WatchStepsResponse;

constexpr int kSilenceMs = 20'000;  // a machine that is lost says nothing
constexpr int kReconnectMs = 2'000;
constexpr std::chrono::seconds kPatience{2};  // with the operator's answer about nodes
constexpr std::chrono::seconds kPoolsStand{5};

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const OperatorAccess& access) {
  using namespace grpc::experimental;
  TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<FileWatcherCertificateProvider>(
      access.key, access.certificate, access.authority, static_cast<unsigned>(kTlsFilesStand.count())));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  return TlsCredentials(options);
}

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // it is within the cluster
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kSilenceMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
  return arguments;
}

std::chrono::system_clock::time_point wall_time_of(Clock::TimePoint deadline) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(deadline - SystemClock().now());
}

}  // namespace

Status check_operator_access(const OperatorAccess& access) {
  if (access.address.empty()) return {};
  const std::array<std::pair<const char*, const std::string&>, 3> files{
      {{"--operator-ca", access.authority},
       {"--operator-certificate", access.certificate},
       {"--operator-key", access.key}}};
  for (const auto& [flag, path] : files) {
    if (path.empty()) return bad_input(fmt::format("{}: needed beside --operator", flag));
    const auto text = file_contents(path);
    if (!text) return bad_input(fmt::format("{}: {}", flag, text.error().message));
  }
  return {};
}

OperatorLink::OperatorLink(const OperatorAccess& access, Clock& clock)
    : stub_(v1alpha1::LiveMetrics::NewStub(
          grpc::CreateCustomChannel(access.address, credentials_of(access), channel_arguments()))),
      clock_(clock) {}

Answer<v1alpha1::ListPoolsResponse> OperatorLink::pools() {
  {
    const std::scoped_lock lock(mutex_);
    if (pools_ && (is_asked_ || clock_.now() < pools_until_)) return *pools_;
    if (is_asked_) return fault(Code::kUnavailable, faults::kOperatorAway, "the operator is being asked");
    is_asked_ = true;
  }
  Pools told = ask_for_pools();
  const std::scoped_lock lock(mutex_);
  is_asked_ = false;
  pools_until_ = clock_.now() + kPoolsStand;
  pools_ = told;
  return told;
}

// Whoever waits for the answer, and for how long, has no part in what all are told.
OperatorLink::Pools OperatorLink::ask_for_pools() const {
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + kPatience);
  v1alpha1::ListPoolsResponse response;
  const grpc::Status status = stub_->ListPools(&call, {}, &response);
  if (status.ok()) return response;
  if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION)
    return fault(Code::kFailedPrecondition, faults::kNoCapacity, status.error_message());
  return fault(Code::kUnavailable, faults::kOperatorAway,
               fmt::format("the operator does not tell of nodes: {}", rpc_status_text(status)));
}

Answer<void> OperatorLink::read(const CallContext& context, const std::string& job_uid, StepCursor at,
                                const Take& take) const {
  grpc::ClientContext call;
  if (context.deadline != Clock::kNever) call.set_deadline(wall_time_of(context.deadline));
  WatchStepsRequest request;
  request.set_job_uid(job_uid);
  request.set_attempt(at.attempt);
  request.set_step(at.step);
  const std::stop_callback cancel(context.stop, [&call] { call.TryCancel(); });
  const auto reader = stub_->WatchSteps(&call, request);
  WatchStepsResponse response;
  bool is_enough = false;
  while (!is_enough && reader->Read(&response)) is_enough = !take(response);
  if (is_enough) call.TryCancel();
  const grpc::Status status = reader->Finish();
  const bool is_over = is_enough || context.stop.stop_requested() ||
                       status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  if (is_over) return {};  // else the operator ends, in order or not
  return fault(Code::kUnavailable, faults::kOperatorAway,
               fmt::format("the operator does not tell of the job: {}", rpc_status_text(status)));
}

}  // namespace caravan::service
