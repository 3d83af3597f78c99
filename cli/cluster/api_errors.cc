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

std::string place_of(const Asked& asked) {
  return asked.name_space.empty() ? "the cluster" : fmt::format("namespace {}", asked.name_space);
}

std::string option_of(const Asked& asked) {
  return asked.name_space.empty() ? " -A" : fmt::format(" -n {}", asked.name_space);
}

Error unreachable(const kube::ApiError& error, const std::string& server) {
  return {.message = fmt::format("the API server {} is not reached ({}); see whether the cluster is up, and "
                                 "whether --context names the right one",
                                 server, error.message),
          .code = ExitCode::kClusterUnreachable};
}

Error forbidden(const kube::ApiError& error, const Asked& asked) {
  return {.message = fmt::format("{}; ask whoever runs the cluster for the right to {} {} in {}",
                                 words_of(error), asked.verb, asked.resource, place_of(asked))};
}

// Of a path that no definition serves, the answer is no Status and has no reason.
Error not_found(const kube::ApiError& error, const Asked& asked) {
  if (error.reason.empty()) {
    return {.message =
                fmt::format("the cluster does not know {}: Caravan is not installed there; `kubectl apply -f "
                            "deploy/install.yaml` does that, or the Helm chart (docs/user/install.md)",
                            asked.resource)};
  }
  const bool is_job = asked.resource.starts_with("llamatrainingjobs") && !asked.name.empty();
  if (!is_job || asked.verb == "create") return {.message = words_of(error), .code = ExitCode::kBadInput};
  return {.message = fmt::format("{} has no job {}; `caravan list{}` shows those that there are",
                                 place_of(asked), asked.name, option_of(asked)),
          .code = ExitCode::kBadInput};
}

Error sentence_of(const kube::ApiError& error, const Asked& asked, const std::string& server) {
  if (error.kind == kube::ErrorKind::kRefusedHere)
    return {.message = error.message, .code = ExitCode::kBadInput};
  if (error.kind != kube::ErrorKind::kStatus) return unreachable(error, server);
  if (error.is_unauthorized()) {
    return {.message = fmt::format("the API server {} does not know who you are ({}); log in again, or name "
                                   "another --context",
                                   server, words_of(error)),
            .code = ExitCode::kClusterUnreachable};
  }
  if (error.is_forbidden()) return forbidden(error, asked);
  if (error.is_not_found()) return not_found(error, asked);
  if (error.is_already_exists()) {
    return {.message = fmt::format("{} has a job {} already; give this one another name, or delete that one "
                                   "with `caravan delete {}{}`",
                                   place_of(asked), asked.name, asked.name, option_of(asked)),
            .code = ExitCode::kBadInput};
  }
  if (error.code == kInvalid || error.code == kBadRequest)
    return {.message = words_of(error), .code = ExitCode::kBadInput};
  return {.message = fmt::format("{} {}: {}", asked.verb, asked.resource, words_of(error))};
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

bool ClusterError::is_outage() const {
  switch (kind) {
    case kube::ErrorKind::kUnreachable:
    case kube::ErrorKind::kBroken:
    case kube::ErrorKind::kTimeout:
      return true;
    case kube::ErrorKind::kStatus:
      return http_status == kTooMany || http_status >= kServerFails;
    default:
      return false;
  }
}

bool ClusterError::is_refusal() const {
  return http_status == kUnauthorized || http_status == kForbidden;
}

bool ClusterError::is_not_found() const {
  return http_status == kNotFound;
}

ClusterError explain(const kube::ApiError& error, const Asked& asked, const std::string& server) {
  return {sentence_of(error, asked, server), error.kind, error.code};
}

}  // namespace caravan::cli
