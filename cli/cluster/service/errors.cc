#include "cli/cluster/service/errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/rpc/status.pb.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "cli/cluster/service/access.h"
#include "common/rpc_status.h"
#include "common/utf8.h"
#include "common/version.h"
#include "service/answer/fault.h"

namespace caravan::cli {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;

constexpr std::chrono::seconds kLongestPause{60};  // whatever a server asks for
constexpr std::array<milliseconds, 4> kPauses{milliseconds(200), milliseconds(500), milliseconds(1000),
                                              milliseconds(2000)};
constexpr std::size_t kLongestWords = 4096;
constexpr std::string_view kOfRequest = "job.";  // before the fields of the job that it has

template <typename Detail>
std::optional<Detail> detail_of(const grpc::Status& status) {
  google::rpc::Status whole;
  if (!whole.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& packed : whole.details()) {
    Detail detail;
    if (packed.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

// Both in one line that is fit for a terminal.
std::string words_of(const grpc::Status& status) {
  return readable_line(status.error_message(), kLongestWords);
}
// Behind the name of its code, where no sentence of ours stands for that.
std::string code_and_words_of(const grpc::Status& status) {
  return readable_line(rpc_status_text(status), kLongestWords);
}

bool says(const grpc::Status& status, std::string_view words) {
  return words_of(status).find(words) != std::string::npos;
}

// As OpenSSL and gRPC say it, of a connection that was made and is not trusted.
bool is_of_another_authority(const grpc::Status& status) {
  return says(status, "CERTIFICATE_VERIFY_FAILED") || says(status, "certificate verify failed");
}
bool is_of_another_name(const grpc::Status& status) {
  return says(status, "is not in peer certificate") || says(status, "Hostname Verification");
}

Error unreachable(const grpc::Status& status, const std::string& server) {
  std::string advice = "see whether it is up, and whether --server names the right one";
  if (is_of_another_name(status)) {
    advice =
        "its certificate is for another name: give the right one with --server-name, such as "
        "caravan-service.caravan-system.svc";
  } else if (is_of_another_authority(status)) {
    advice =
        "its certificate is of another authority than --server-root: `caravan service root` prints the "
        "operator's, and whoever gave the service another certificate has its root";
  }
  return {.message = fmt::format("the job service {} is not reached ({}); {}", server,
                                 code_and_words_of(status), advice),
          .code = ExitCode::kClusterUnreachable};
}

// It or what it asks is slow, or the question is a long one.
Error late(const grpc::Status& status, const Asked& asked, const std::string& server) {
  constexpr char kAskAgain[] =
      "; ask again, or for less at once, such as an estimate for fewer numbers of devices";
  return {.message = fmt::format("the job service {} has not answered in time ({}){}", server,
                                 code_and_words_of(status), asked.may_be_created ? "" : kAskAgain),
          .code = ExitCode::kClusterUnreachable};
}

// As gRPC's client says it of a server for HTTP alone, and some servers of gRPC.
bool is_of_another_service(const grpc::Status& status) {
  return says(status, "http2 header with status") || says(status, "content-type") ||
         says(status, "unknown service");
}

// Servers that run gRPC's C++, as the job service does, say the same of a method and of a service that they
// lack, which is nothing.
Error lacks_method(const grpc::Status& status, const std::string& server) {
  const std::string words = words_of(status);
  if (is_of_another_service(status)) {
    return {
        .message = fmt::format("{} is no job service ({}); see whether --server names it, with its port for "
                               "gRPC",
                               server, words),
        .code = ExitCode::kClusterUnreachable};
  }
  return {.message =
              fmt::format("{} does not have what this command asks for{}; if it is the job service, it is "
                          "older than this caravan ({}): have it upgraded, or leave out --server; if not, "
                          "name the job service with --server, with its port for gRPC",
                          server, words.empty() ? "" : fmt::format(" ({})", words), version())};
}

// A line for each mistake, as the loader has it.
Error mistakes(const grpc::Status& status) {
  std::vector<std::string> lines;
  if (const auto request = detail_of<google::rpc::BadRequest>(status)) {
    for (const auto& violation : request->field_violations()) {
      std::string_view field = violation.field();
      if (field.starts_with(kOfRequest)) field.remove_prefix(kOfRequest.size());
      lines.push_back(fmt::format("{}: {}", field, violation.description()));
    }
  }
  if (lines.empty()) lines.push_back(words_of(status));
  return {.message = fmt::format("{}", fmt::join(lines, "\n")), .code = ExitCode::kBadInput};
}

Error sentence_of(const grpc::Status& status, const Asked& asked, const Server& server) {
  switch (status.error_code()) {
    case StatusCode::UNAVAILABLE:
      if (reason_of(status).empty()) return unreachable(status, server.address);
      return {.message = fmt::format("the job service {} cannot answer now: {}", server.address,
                                     code_and_words_of(status)),
              .code = ExitCode::kClusterUnreachable};
    case StatusCode::DEADLINE_EXCEEDED:
      return is_late(status, server) ? late(status, asked, server.address)
                                     : unreachable(status, server.address);
    case StatusCode::UNAUTHENTICATED:
      return {.message = fmt::format("the job service {} does not know who you are ({}); {}", server.address,
                                     words_of(status), kHowToGetAToken),
              .code = ExitCode::kClusterUnreachable};
    case StatusCode::PERMISSION_DENIED:
      return forbidden(words_of(status), asked);
    case StatusCode::NOT_FOUND:
      if (!asked.name.empty() && asked.verb != "create") return no_such_job(asked);
      return {.message = words_of(status), .code = ExitCode::kBadInput};
    case StatusCode::ALREADY_EXISTS:
      return name_is_taken(asked);
    case StatusCode::INVALID_ARGUMENT:
      return mistakes(status);
    case StatusCode::FAILED_PRECONDITION:
      if (reason_of(status) != service::faults::kNoMetrics)
        return {.message = code_and_words_of(status), .code = ExitCode::kBadInput};
      return {.message = fmt::format("{}; without --server, what node 0 has logged tells",
                                     code_and_words_of(status))};
    case StatusCode::UNIMPLEMENTED:
      return lacks_method(status, server.address);
    default:
      return refused(code_and_words_of(status), asked);
  }
}

Trouble trouble_of(const grpc::Status& status) {
  switch (status.error_code()) {
    case StatusCode::UNAVAILABLE:
    case StatusCode::DEADLINE_EXCEEDED:
      return Trouble::kOutage;
    case StatusCode::RESOURCE_EXHAUSTED:
      return detail_of<google::rpc::RetryInfo>(status) ? Trouble::kOutage : Trouble::kOther;
    case StatusCode::UNAUTHENTICATED:
    case StatusCode::PERMISSION_DENIED:
      return Trouble::kRefusal;
    case StatusCode::NOT_FOUND:
      return Trouble::kNotFound;
    case StatusCode::ABORTED:
      return Trouble::kChanged;
    default:
      return Trouble::kOther;
  }
}

bool is_of_any_call(const grpc::Status& status, const Server& server) {
  switch (status.error_code()) {
    case StatusCode::UNAUTHENTICATED:
    case StatusCode::UNIMPLEMENTED:
      return true;
    case StatusCode::UNAVAILABLE:
      return reason_of(status).empty();
    case StatusCode::DEADLINE_EXCEEDED:
      return !is_late(status, server);
    default:
      return false;
  }
}

}  // namespace

ClusterError explain(const grpc::Status& status, const Asked& asked, const Server& server) {
  ClusterError error{sentence_of(status, asked, server), trouble_of(status), is_of_any_call(status, server)};
  if (asked.may_be_created)
    error.message += fmt::format("; the job may have been created: `caravan list{}` shows it then",
                                 place_options(asked.name_space, asked.context));
  return error;
}

bool is_late(const grpc::Status& status, const Server& server) {
  return status.error_code() == StatusCode::DEADLINE_EXCEEDED &&
         (server.is_connected || !reason_of(status).empty());
}

std::string reason_of(const grpc::Status& status) {
  const auto info = detail_of<google::rpc::ErrorInfo>(status);
  return info ? info->reason() : "";
}

std::optional<milliseconds> wait_before_retry(const grpc::Status& status, int tries) {
  if (trouble_of(status) != Trouble::kOutage) return std::nullopt;
  if (const auto told = detail_of<google::rpc::RetryInfo>(status)) {
    const auto seconds = std::clamp<std::int64_t>(told->retry_delay().seconds(), 0, kLongestPause.count());
    return std::max(kPauses.front(), milliseconds(seconds * 1000 + told->retry_delay().nanos() / 1'000'000));
  }
  const bool is_final = status.error_code() != StatusCode::UNAVAILABLE || is_of_another_authority(status) ||
                        is_of_another_name(status);
  const auto made = static_cast<std::size_t>(tries);
  if (is_final || made > kPauses.size()) return std::nullopt;
  return kPauses.at(made - 1);
}

}  // namespace caravan::cli
