#include "kube/api/api_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "common/utf8.h"
#include "kube/api/json.h"

namespace caravan::kube {
namespace {

// Proxies answer with pages; the first line is what helps.
constexpr std::size_t kLongestForeignBody = 200;

std::optional<std::chrono::milliseconds> seconds_in(std::string_view text) {
  unsigned seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return std::chrono::seconds(seconds);
}

void read_status(const Json& status, ApiError& error) {
  error.reason = text_at(status, {"reason"});
  error.message = text_at(status, {"message"});
  if (error.code == 0) error.code = static_cast<int>(integer_at(status, {"code"}).value_or(0));
  if (const auto seconds = integer_at(status, {"details", "retryAfterSeconds"}); seconds && *seconds > 0) {
    error.retry_after = std::chrono::seconds(*seconds);
  }
}

ApiError read_error(const std::string& call, int code, const std::string& body) {
  ApiError error{.kind = ErrorKind::kStatus, .code = code};
  const auto status = parse_json(body, call);
  if (status && text_at(*status, {"kind"}) == "Status") {
    read_status(*status, error);
  } else {
    error.message = readable_line(std::string_view(body).substr(0, body.find('\n')), kLongestForeignBody);
  }
  error.message = fmt::format("{}: {}{}{}: {}", call, error.code, error.reason.empty() ? "" : " ",
                              error.reason, error.message.empty() ? "no message" : error.message);
  return error;
}

}  // namespace

bool ApiError::is_too_large_version() const {
  return code == 504 && message.find("Too large resource version") != std::string::npos;
}

tl::unexpected<ApiError> api_failure(ErrorKind kind, std::string message) {
  return tl::unexpected<ApiError>(ApiError{.kind = kind, .message = std::move(message)});
}

ApiError error_of_answer(const std::string& call, const HttpHead& head, const std::string& body) {
  ApiError error = read_error(call, head.status, body);
  if (const auto wait = seconds_in(header(head.headers, "Retry-After"))) error.retry_after = wait;
  error.flow_schema = header(head.headers, "X-Kubernetes-PF-FlowSchema-UID");
  return error;
}

ApiError error_of_status(const std::string& call, const std::string& body) {
  return read_error(call, 0, body);
}

}  // namespace caravan::kube
