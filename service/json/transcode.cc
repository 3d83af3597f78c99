#include "service/json/transcode.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/json_util.h>
#include <google/rpc/status.pb.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "common/json.h"
#include "common/schema/message_text.h"
#include "common/utf8.h"
#include "kube/api/json.h"
#include "operator/api/read_message.h"
#include "service/json/repeated_field.h"

namespace caravan::service {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using kube::Json;
using kube::JsonObject;

constexpr std::size_t kDeepestBody = 32;        // a job has eight levels
constexpr std::chrono::seconds kUsualRetry{1};  // where nobody says how long it takes
constexpr char kJson[] = "application/json";
constexpr char kEvents[] = "text/event-stream";

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// Of application/x-www-form-urlencoded, as browsers and curl write it.
Answer<std::string> unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
    if (!low) return bad_field("query", fmt::format("{} has a bad escape", schema::in_quotes(text)));
    plain += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  if (first_invalid_utf8(plain))
    return bad_field("query", fmt::format("{} is not UTF-8", schema::in_quotes(plain)));
  return plain;
}

template <typename Number>
std::optional<Json> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Json(number);
}

// What JSON would have in the place of the parameter; as a text what it cannot have.
Json json_of_parameter(const FieldDescriptor& field, const std::string& text) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return text == "true" ? Json(true) : text == "false" ? Json(false) : Json(text);
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
      return number_in<std::int64_t>(text).value_or(Json(text));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return number_in<double>(text).value_or(Json(text));
    default:
      return Json(text);
  }
}

tl::unexpected<Fault> unknown_parameter(const std::string& name,
                                        const std::vector<const FieldDescriptor*>& known) {
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const FieldDescriptor* field : known) names.push_back(field->json_name());
  const std::string there_are = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  return bad_field("query",
                   fmt::format("unknown parameter {}; there are {}", schema::in_quotes(name), there_are));
}

// As an object, like a body.
Answer<JsonObject> parameters_in(std::string_view query, const Route& route) {
  const auto known = parameters_of(route);
  JsonObject all;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    if (pair.empty()) continue;
    const std::size_t is = std::min(pair.find('='), pair.size());
    const auto name = unescaped(pair.substr(0, is));
    if (!name) return tl::unexpected(name.error());
    const auto text = unescaped(pair.substr(std::min(is + 1, pair.size())));
    if (!text) return tl::unexpected(text.error());
    const auto found =
        std::ranges::find_if(known, [&](const FieldDescriptor* one) { return one->json_name() == *name; });
    if (found == known.end()) return unknown_parameter(*name, known);
    const FieldDescriptor& field = **found;
    Json value = json_of_parameter(field, *text);
    if (!field.is_repeated()) {
      if (!all.emplace(*name, std::move(value)).second) return bad_field(*name, "is given twice");
    } else {
      Json& list = all[*name];
      if (!list.is_array()) list = kube::JsonArray();
      list.get_array().push_back(std::move(value));
    }
  }
  return all;
}

Answer<void> read(const Json& from, Message& into, const std::string& where) {
  const Status read = controller::read_message(from, into, controller::Unknown::kRefused);
  if (!read) return bad_field(where, read.error().message);
  return {};
}

bool is_json(std::string_view content_type) {
  return content_type.substr(0, std::min(content_type.find(';'), content_type.size())) == kJson;
}

Answer<void> read_body(const Route& route, const http::Request& request, Message& into) {
  if (request.body.empty()) return {};
  if (route.body.empty()) return bad_field("body", fmt::format("{} takes none", route.method->name()));
  if (!is_json(request.field("content-type")))
    return bad_field("body", fmt::format("expected the Content-Type {}, got {}", kJson,
                                         schema::in_quotes(request.field("content-type"))));
  const auto json = kube::parse_json(request.body, "the body", kDeepestBody);
  if (!json) return bad_field("body", json.error().message);
  if (const auto repeated = repeated_field(request.body, kDeepestBody))
    return bad_field(route.body == "*" ? *repeated : route.body + "." + *repeated, "is given twice");
  if (route.body == "*") return read(*json, into, "body");
  return read(JsonObject{{into.GetDescriptor()->FindFieldByName(route.body)->json_name(), *json}}, into,
              "body");
}

Answer<void> set_path_field(const Match& match, Message& into) {
  const FieldDescriptor* field = match.route->field;
  if (!into.GetReflection()->GetString(into, field).empty())
    return bad_field(field->json_name(), "stands in the path already");
  into.GetReflection()->SetString(&into, field, match.value);
  return {};
}

// Where a stream is gone on from; null: it is not.
const FieldDescriptor* cursor_of(const Message& message) {
  const FieldDescriptor* token = message.GetDescriptor()->FindFieldByName("resume_token");
  return token != nullptr ? token : message.GetDescriptor()->FindFieldByName("cursor");
}

// What a browser's EventSource knows of the last event when it comes again.
Answer<void> set_cursor(const http::Request& request, Message& into) {
  const std::string_view last = request.field("last-event-id");
  const FieldDescriptor* field = cursor_of(into);
  if (last.empty() || field == nullptr) return {};
  if (first_invalid_utf8(last)) return bad_field("Last-Event-ID", "is not UTF-8");
  into.GetReflection()->SetString(&into, field, std::string(last));
  return {};
}

http::Reply json_reply(std::string body, std::string status) {
  return {.content_type = kJson,
          .body = std::move(body) + "\n",
          .status = std::move(status),
          .fields = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}}};
}

// A quota is given back when somebody deletes something, which nobody can foretell.
std::optional<std::chrono::milliseconds> retry_of(const Fault& fault) {
  const bool may_pass = fault.code == Code::kUnavailable ||
                        (fault.code == Code::kResourceExhausted && fault.reason != faults::kQuota);
  if (fault.retry_after || !may_pass) return fault.retry_after;
  return kUsualRetry;
}

std::string json_of(const Fault& fault) {
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(status_of(fault), &json);
  return printed.ok() ? json : fmt::format(R"({{"code":{}}})", static_cast<int>(fault.code));
}

}  // namespace

MessagePtr new_message(const Descriptor& type) {
  return MessagePtr(google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
}

Answer<MessagePtr> request_of(const Match& match, const http::Request& request) {
  const Route& route = *match.route;
  MessagePtr message = new_message(*route.method->input_type());
  if (auto body = read_body(route, request, *message); !body) return tl::unexpected(std::move(body.error()));
  if (auto path = set_path_field(match, *message); !path) return tl::unexpected(std::move(path.error()));
  const std::string_view target = request.target;
  const std::size_t query = std::min(request.path().size() + 1, target.size());
  const auto parameters = parameters_in(target.substr(query), route);
  if (!parameters) return tl::unexpected(parameters.error());
  if (auto set = read(*parameters, *message, "query"); !set) return tl::unexpected(std::move(set.error()));
  if (route.method->server_streaming()) {
    if (auto set = set_cursor(request, *message); !set) return tl::unexpected(std::move(set.error()));
  }
  return message;
}

std::string status_line_of(Code code) {
  switch (code) {
    case Code::kCancelled:
      return "499 Client Closed Request";
    case Code::kInvalidArgument:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
      return "400 Bad Request";
    case Code::kDeadlineExceeded:
      return "504 Gateway Timeout";
    case Code::kNotFound:
      return "404 Not Found";
    case Code::kAlreadyExists:
    case Code::kAborted:
      return "409 Conflict";
    case Code::kPermissionDenied:
      return "403 Forbidden";
    case Code::kResourceExhausted:
      return "429 Too Many Requests";
    case Code::kUnimplemented:
      return "501 Not Implemented";
    case Code::kUnavailable:
      return "503 Service Unavailable";
    case Code::kUnauthenticated:
      return "401 Unauthorized";
    case Code::kInternal:
      break;
  }
  return "500 Internal Server Error";
}

http::Reply reply_of(const Message& answer) {
  return json_reply(to_json(answer), "200 OK");
}

http::Reply reply_of(const Fault& fault) {
  http::Reply reply = json_reply(json_of(fault), status_line_of(fault.code));
  if (fault.code == Code::kUnauthenticated) reply.fields.emplace_back("WWW-Authenticate", "Bearer");
  if (const auto retry_after = retry_of(fault)) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*retry_after);
    reply.fields.emplace_back("Retry-After", fmt::format("{}", seconds.count()));
  }
  return reply;
}

http::Reply reply_of(const http::Refusal& refusal) {
  http::Reply reply = reply_of(
      Fault{.code = Code::kInvalidArgument, .reason = faults::kBadRequest, .message = refusal.words});
  reply.status = refusal.status;
  return reply;
}

http::Reply head_of_events() {
  http::Reply head = json_reply("", "200 OK");
  head.content_type = kEvents;
  head.body.clear();
  return head;
}

std::string event_of(const Message& message) {
  const FieldDescriptor* field = cursor_of(message);
  const std::string cursor = field == nullptr ? "" : message.GetReflection()->GetString(message, field);
  const bool is_one_line = cursor.find_first_of("\r\n") == std::string::npos;
  return fmt::format("{}data: {}\n\n", cursor.empty() || !is_one_line ? "" : fmt::format("id: {}\n", cursor),
                     to_json(message));
}

std::string event_of(const Fault& fault) {
  return fmt::format("event: fault\ndata: {}\n\n", json_of(fault));
}

}  // namespace caravan::service
