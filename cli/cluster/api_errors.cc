#include "cli/cluster/api_errors.h"

#include <fmt/format.h>

#include <algorithm>

namespace caravan::cli {
namespace {

constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kInvalid = 422;
constexpr int kTooMany = 429;
constexpr int kServerFails = 500;  // and above

Error unreachable(const kube::ApiError& error, const std::string& server) {
  return {.message = fmt::format("the API server {} is not reached ({}); see whether the cluster is up, and "
                                 "whether --context names the right one",
                                 server, error.message),
          .code = ExitCode::kClusterUnreachable};
}

Error untrusted(const kube::ApiError& error, const std::string& server) {
  return {.message = fmt::format("the API server {} is not trusted ({})", server, error.message),
          .code = ExitCode::kClusterUnreachable};
}

Error no_credentials(const kube::ApiError& error, const std::string& server) {
  return {.message =
              fmt::format("cannot log in to the API server {} ({}); log in again, or name another --context",
                          server, error.message),
          .code = ExitCode::kClusterUnreachable};
}

// Of a path that no definition serves, the answer is no Status and has no reason.
Error not_found(const kube::ApiError& error, const Asked& asked) {
  if (error.reason.empty()) {
    return {.message =
                fmt::format("the cluster does not know {}: Caravan is not installed there; `kubectl apply -f "
                            "deploy/install.yaml` does that, or the Helm chart (docs/user/install.md)",
                            asked.resource)};
  }
  const bool is_job = asked.is_of_jobs() && !asked.name.empty() && asked.verb != "create";
  if (!is_job) return {.message = words_of(error), .code = ExitCode::kBadInput};
  return no_such_job(asked);
}

Error sentence_of(const kube::ApiError& error, const Asked& asked, const std::string& server) {
  if (error.kind == kube::ErrorKind::kRefusedHere)
    return {.message = error.message, .code = ExitCode::kBadInput};
  if (error.kind == kube::ErrorKind::kNoCredentials) return no_credentials(error, server);
  if (error.kind == kube::ErrorKind::kUntrusted) return untrusted(error, server);
  if (error.kind != kube::ErrorKind::kStatus) return unreachable(error, server);
  if (error.is_unauthorized()) {
    return {.message = fmt::format("the API server {} does not know who you are ({}); log in again, or name "
                                   "another --context",
                                   server, words_of(error)),
            .code = ExitCode::kClusterUnreachable};
  }
  if (error.is_forbidden()) return forbidden(words_of(error), asked);
  if (error.is_not_found()) return not_found(error, asked);
  if (error.is_already_exists()) return name_is_taken(asked);
  if (error.code == kInvalid || error.code == kBadRequest)
    return {.message = words_of(error), .code = ExitCode::kBadInput};
  return refused(words_of(error), asked);
}

bool is_of_any_call(const kube::ApiError& error) {
  return error.kind == kube::ErrorKind::kUnreachable || error.kind == kube::ErrorKind::kUntrusted ||
         error.kind == kube::ErrorKind::kNoCredentials || error.is_unauthorized();
}

}  // namespace

// "GET /apis/...: 403 Forbidden: WORDS", as kube/api/api_error.cc writes it.
std::string words_of(const kube::ApiError& error) {
  std::string words = error.message;
  if (error.kind == kube::ErrorKind::kStatus) {
    const std::string code =
        fmt::format(": {}{}{}: ", error.code, error.reason.empty() ? "" : " ", error.reason);
    if (const std::size_t at = words.find(code); at != std::string::npos) words.erase(0, at + code.size());
  }
  std::ranges::replace(words, '\n', ' ');
  return words;
}

Trouble trouble_of(const kube::ApiError& error) {
  switch (error.kind) {
    case kube::ErrorKind::kUnreachable:
    case kube::ErrorKind::kUntrusted:
    case kube::ErrorKind::kNoCredentials:
    case kube::ErrorKind::kBroken:
    case kube::ErrorKind::kTimeout:
      return Trouble::kOutage;
    case kube::ErrorKind::kStatus:
      if (error.code == kTooMany || error.code >= kServerFails) return Trouble::kOutage;
      if (error.code == kUnauthorized || error.code == kForbidden) return Trouble::kRefusal;
      return error.code == kNotFound ? Trouble::kNotFound : Trouble::kOther;
    default:
      return Trouble::kOther;
  }
}

ClusterError explain(const kube::ApiError& error, const Asked& asked, const std::string& server) {
  return {sentence_of(error, asked, server), trouble_of(error), is_of_any_call(error)};
}

}  // namespace caravan::cli
