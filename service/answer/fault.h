// Why a method did not do what it was asked for, as a value: what gRPC and HTTP both tell of it.
//
// Codes are gRPC's. The reason is the one ErrorInfo of the answer, stable and meant for programs; the message
// is for people. Nothing of another namespace, and no token, stands in either.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "kube/api/api_error.h"

namespace google::rpc {
class Status;
}

namespace caravan::service {

enum class Code {
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

// ErrorInfo.reason.
namespace faults {
inline constexpr char kNoCredentials[] = "NO_CREDENTIALS";  // neither token nor certificate
inline constexpr char kBadToken[] = "BAD_TOKEN";            // of nobody, expired, or for another audience
// The API server does not take it: it is for reading here only, or has expired since it was let in.
inline constexpr char kTokenNotForServer[] = "TOKEN_AUDIENCE";
inline constexpr char kCertificateOnly[] = "CERTIFICATE_ONLY";  // a certificate cannot be passed on
inline constexpr char kForbidden[] = "FORBIDDEN";
inline constexpr char kBadRequest[] = "BAD_REQUEST";
inline constexpr char kInvalidJob[] = "INVALID_JOB";
inline constexpr char kNoMethod[] = "NO_METHOD";  // at that path over HTTP
inline constexpr char kNotFound[] = "NOT_FOUND";
inline constexpr char kExists[] = "ALREADY_EXISTS";
inline constexpr char kStaleEtag[] = "STALE_ETAG";
inline constexpr char kFinished[] = "JOB_FINISHED";
inline constexpr char kNoCheckpoints[] = "NO_CHECKPOINTS";
inline constexpr char kQuota[] = "QUOTA_EXCEEDED";
inline constexpr char kRate[] = "RATE_LIMITED";
inline constexpr char kBusy[] = "BUSY";
inline constexpr char kTokenTooOld[] = "RESUME_TOKEN_TOO_OLD";
inline constexpr char kLogGone[] = "LOG_GONE";                // rotated away, or its pod is gone
inline constexpr char kNotPlanned[] = "NOT_PLANNED";          // so no node has that rank
inline constexpr char kOtherNamespace[] = "OTHER_NAMESPACE";  // whose jobs this service does not have
inline constexpr char kNotReady[] = "NOT_READY";              // the copy of the jobs is not filled yet
inline constexpr char kServerAway[] = "API_SERVER_AWAY";      // or it refuses what this service needs
inline constexpr char kOperatorAway[] = "OPERATOR_AWAY";      // so nobody tells how training goes
inline constexpr char kNoMetrics[] = "NO_METRICS";            // this service was started without --operator
inline constexpr char kNoCapacity[] = "NO_CAPACITY";          // the operator reads no nodes
inline constexpr char kTimeout[] = "TIMEOUT";
inline constexpr char kCancelled[] = "CANCELLED";
inline constexpr char kInternal[] = "INTERNAL";
}  // namespace faults

struct Violation {
  std::string subject;  // the field, such as job.spec.training.steps
  std::string description;
};

struct [[nodiscard]] Fault {
  Code code = Code::kInternal;
  std::string reason = {};
  std::string message = {};
  std::vector<Violation> fields = {};         // BadRequest
  std::vector<Violation> quotas = {};         // QuotaFailure
  std::vector<Violation> preconditions = {};  // PreconditionFailure; their type is the reason
  std::optional<std::chrono::milliseconds> retry_after = {};
};

template <typename T>
using Answer = tl::expected<T, Fault>;

inline tl::unexpected<Fault> fault(Code code, std::string reason, std::string message) {
  return tl::unexpected<Fault>(
      Fault{.code = code, .reason = std::move(reason), .message = std::move(message)});
}
// what: that nobody reads any more.
inline tl::unexpected<Fault> nobody_reads(const std::string& what) {
  return fault(Code::kCancelled, faults::kCancelled, "nobody reads " + what + " any more");
}
// A field of a request that is not as it must be.
tl::unexpected<Fault> bad_field(std::string field, std::string sentence);

// What the API server answered to a call that was made as the caller.
Fault fault_of(const kube::ApiError& error);
// The same for a call that this service made on its own account: a refusal is none of the caller's.
Fault own_fault_of(const kube::ApiError& error);

// As much of it as a client of gRPC takes: the first violations, and how many more there are. All of an error
// goes into headers, its message twice, and with more than 8 KiB of them a call ends RESOURCE_EXHAUSTED.
Fault fit_for_headers(Fault fault);

google::rpc::Status status_of(const Fault& fault);

}  // namespace caravan::service
