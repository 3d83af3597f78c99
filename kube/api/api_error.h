// What can go wrong in a call of the API server, in the terms that callers decide by.
//
// Kinds say whether the server may have acted: kUnreachable, kUntrusted, kNoCredentials and kRefusedHere mean
// that it has not, kStatus is its own answer, the others leave it open.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/result.h"
#include "kube/transport/http.h"

namespace caravan::kube {

enum class ErrorKind {
  kStatus,         // the server answered with an error
  kUnreachable,    // no byte of the request reached a server
  kUntrusted,      // nor here: its certificate is not good
  kNoCredentials,  // nor here: those of the configuration are not to be had, or not usable
  kBroken,         // the connection ended during the call
  kTimeout,        // the deadline came
  kStopped,        // a stop was requested
  kMalformed,      // the answer makes no sense
  kTooLarge,       // the answer is longer than the caller takes
  kRefusedHere,    // this client refused: not the leader, or bad arguments
};

struct [[nodiscard]] ApiError {
  ErrorKind kind = ErrorKind::kStatus;
  std::string message = {};
  int code = 0;             // HTTP status, of kStatus
  std::string reason = {};  // of the Status object, such as AlreadyExists
  std::optional<std::chrono::milliseconds> retry_after = {};
  std::string flow_schema = {};  // UID of the one that the server's fairness put the call into

  bool is_not_found() const { return code == 404; }
  bool is_unauthorized() const { return code == 401; }
  bool is_forbidden() const { return code == 403; }
  // A name that is taken, unlike a conflict of versions; both answer 409.
  bool is_already_exists() const { return code == 409 && reason == "AlreadyExists"; }
  bool is_conflict() const { return code == 409 && reason != "AlreadyExists"; }
  // The version or page token is older than what the server still has.
  bool is_expired() const { return code == 410; }
  // The server is behind the version that was asked for, as after a restore.
  bool is_too_large_version() const;
};

template <typename T>
using ApiResult = tl::expected<T, ApiError>;
using ApiStatus = ApiResult<void>;

tl::unexpected<ApiError> api_failure(ErrorKind kind, std::string message);

// From an answer that is no success. `call` names the call, `body` should hold a Status object but may hold
// anything.
ApiError error_of_answer(const std::string& call, const HttpHead& head, const std::string& body);
// From a Status object that came without HTTP status: an ERROR event of a watch.
ApiError error_of_status(const std::string& call, const std::string& body);

}  // namespace caravan::kube
