#include "kube/client/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <iterator>

#include "kube/api/object.h"
#include "kube/api/timestamp.h"

namespace caravan::kube {
namespace {

constexpr std::chrono::seconds kWatchMargin{5};
// Within so long the Date of an answer was written, or it tells nothing of our clock.
constexpr std::chrono::seconds kTellingSpan{2};
// Bodies of errors are short; what is longer is no Status.
constexpr std::size_t kLongestError = std::size_t{64} << 10;

std::string_view to_string(Propagation propagation) {
  return propagation == Propagation::kForeground ? "Foreground" : "Background";
}

std::string delete_body(const DeleteOptions& options) {
  JsonObject body{{"apiVersion", "v1"},
                  {"kind", "DeleteOptions"},
                  {"propagationPolicy", std::string(to_string(options.propagation))}};
  JsonObject preconditions;
  if (!options.uid.empty()) preconditions["uid"] = options.uid;
  if (!options.resource_version.empty()) preconditions["resourceVersion"] = options.resource_version;
  if (!preconditions.empty()) body["preconditions"] = std::move(preconditions);
  if (options.grace_period_seconds) body["gracePeriodSeconds"] = *options.grace_period_seconds;
  return boost::json::serialize(body);
}

ApiResult<Page> page_of(Json list) {
  JsonObject* fields = list.if_object();
  Json* items = fields == nullptr ? nullptr : fields->if_contains("items");
  Page page{.items = {},
            .resource_version = text_at(list, {"metadata", "resourceVersion"}),
            .continue_token = text_at(list, {"metadata", "continue"})};
  // An empty list may be null.
  if (items != nullptr && items->is_array()) page.items = std::move(items->get_array());
  return page;
}

// Servers that cannot leave anything out answer with whole objects.
std::string accepted(Part part, std::string_view kind) {
  if (part == Part::kWhole) return "application/json";
  return fmt::format("application/json;as={};g=meta.k8s.io;v=v1,application/json", kind);
}

// An empty name would address the whole collection, and dots another path.
bool is_object_name(std::string_view name) {
  return !name.empty() && name != "." && name != "..";
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

// By how much our clock is ahead, at least: Date is in whole seconds, and was written while the call was
// under way. Nothing: the server does not say, or took too long to tell.
std::optional<std::chrono::seconds> clock_ahead(const HttpHead& head, Clock::WallTime sent,
                                                Clock::WallTime received) {
  using std::chrono::seconds;
  const auto date = parse_http_date(header(head.headers, "Date"));
  if (!date) return std::nullopt;
  const auto least = sent - (*date + seconds(1));
  const auto most = std::max(least, received - *date);
  if (most - least > kTellingSpan) return std::nullopt;
  return std::chrono::duration_cast<seconds>(std::clamp(Clock::WallTime::duration::zero(), least, most));
}

std::string read_error_body(const CallContext& context, HttpStream& stream) {
  std::string body;
  while (body.size() < kLongestError) {
    auto chunk = stream.read(context);
    if (!chunk || chunk->empty()) break;
    body += *chunk;
  }
  return body;
}

}  // namespace

struct Client::Call {
  std::string method;
  ResourcePath of;
  std::optional<std::string> object = {};  // absent: the collection
  std::string subresource = {};
  Query query = {};
  std::string body = {};
  std::string content_type = "application/json";
  std::string accept = "application/json";
  std::size_t longest_answer = 0;
  Repeatable repeatable = Repeatable::kYes;
  int tries = 0;  // at most; 0: as the options say
  bool is_watch = false;

  std::string verb() const { return is_watch ? "WATCH" : method; }
  std::string path() const { return object ? object_path(of, *object, subresource) : collection_path(of); }
  std::string name() const { return fmt::format("{} {}", verb(), path()); }
};

Client::Client(Transport& transport, Credentials& credentials, Clock& clock, Random random,
               ClientOptions options, Observer& observer)
    : transport_(transport),
      credentials_(credentials),
      clock_(clock),
      random_(std::move(random)),
      options_(std::move(options)),
      observer_(observer) {}

Client Client::with(ClientOptions options) const {
  return {transport_, credentials_, clock_, random_, std::move(options), observer_};
}

ApiResult<Json> Client::get(const CallContext& context, const ResourcePath& path, std::string_view name,
                            std::string_view subresource) {
  return call(
      context,
      {.method = "GET", .of = path, .object = std::string(name), .subresource = std::string(subresource)});
}

ApiResult<Page> Client::list_page(const CallContext& context, const ResourcePath& path,
                                  const ListOptions& options) {
  return call(context, {.method = "GET",
                        .of = path,
                        .query = {{"labelSelector", options.label_selector},
                                  {"fieldSelector", options.field_selector},
                                  {"limit", options.limit > 0 ? std::to_string(options.limit) : ""},
                                  {"continue", options.continue_token}},
                        .accept = accepted(options.part, "PartialObjectMetadataList"),
                        .longest_answer = options.longest_answer})
      .and_then(page_of);
}

ApiResult<Page> Client::list(const CallContext& context, const ResourcePath& path,
                             const ListOptions& options) {
  Page whole;
  ListOptions at = options;
  bool started_over = false;
  while (true) {
    auto page = list_page(context, path, at);
    if (!page && page.error().is_expired() && !std::exchange(started_over, true)) {
      whole = {};
      at = options;
      continue;
    }
    if (!page) return page;
    std::move(page->items.begin(), page->items.end(), std::back_inserter(whole.items));
    whole.resource_version = page->resource_version;
    at.continue_token = page->continue_token;
    if (at.continue_token.empty()) return whole;
  }
}

ApiResult<WatchStream> Client::watch(const CallContext& context, const ResourcePath& path,
                                     const WatchOptions& options) {
  const Call call{.method = "GET",
                  .of = path,
                  .query = {{"watch", "1"},
                            {"allowWatchBookmarks", "true"},
                            {"labelSelector", options.label_selector},
                            {"fieldSelector", options.field_selector},
                            {"resourceVersion", options.resource_version},
                            {"timeoutSeconds", std::to_string(options.timeout.count())}},
                  .accept = accepted(options.part, "PartialObjectMetadata"),
                  .is_watch = true};
  const auto token = credentials_.token(context);
  if (!token) return tl::unexpected(token.error());
  auto stream = open_stream(context, context.until(clock_.now() + options_.call_timeout), call, *token);
  if (!stream) {
    forget_credentials(stream.error(), *token);
    return tl::unexpected(std::move(stream.error()));
  }
  return WatchStream(std::move(*stream), clock_.now() + options.timeout + kWatchMargin, call.name());
}

ApiResult<std::unique_ptr<HttpStream>> Client::open(const CallContext& context, const ResourcePath& path,
                                                    std::string_view name, std::string_view subresource,
                                                    const Query& query) {
  const Call call{.method = "GET",
                  .of = path,
                  .object = std::string(name),
                  .subresource = std::string(subresource),
                  .query = query,
                  .accept = "*/*"};
  return retried<std::unique_ptr<HttpStream>>(context, call,
                                              [&](const CallContext& bounded, const std::string& token) {
                                                return open_stream(context, bounded, call, token);
                                              });
}

ApiResult<Json> Client::create(const CallContext& context, const ResourcePath& path, const Json& object,
                               UnknownFields unknown) {
  Query query{{"fieldManager", options_.field_manager}};
  if (unknown == UnknownFields::kRefused) query.emplace_back("fieldValidation", "Strict");
  return call(context, {.method = "POST",
                        .of = path,
                        .query = std::move(query),
                        .body = boost::json::serialize(object),
                        .repeatable = Repeatable::kOnlyWhenRefused});
}

ApiResult<Json> Client::try_create(const CallContext& context, const ResourcePath& path, const Json& object) {
  return call(
      context,
      {.method = "POST",
       .of = path,
       .query = {{"fieldManager", options_.field_manager}, {"dryRun", "All"}, {"fieldValidation", "Strict"}},
       .body = boost::json::serialize(object)});
}

ApiResult<Json> Client::replace(const CallContext& context, const ResourcePath& path, const Json& object) {
  return call(context, {.method = "PUT",
                        .of = path,
                        .object = key_of(object).name,
                        .query = {{"fieldManager", options_.field_manager}},
                        .body = boost::json::serialize(object),
                        .tries = 1});
}

ApiResult<Json> Client::apply(const CallContext& context, const ResourcePath& path, const Json& intent) {
  return apply_to(context, path, intent, "", options_.field_manager);
}

ApiResult<Json> Client::apply_status(const CallContext& context, const ResourcePath& path,
                                     const Json& intent) {
  return apply_to(context, path, intent, "status", options_.status_field_manager);
}

ApiResult<Json> Client::apply_to(const CallContext& context, const ResourcePath& path, const Json& intent,
                                 const std::string& subresource, const std::string& field_manager) {
  if (find(intent, {"metadata", "managedFields"}) != nullptr) {
    return api_failure(
        ErrorKind::kRefusedHere,
        fmt::format("apply {}: an object read from the server cannot be applied: it has managedFields",
                    to_string(key_of(intent))));
  }
  return call(context, {.method = "PATCH",
                        .of = path,
                        .object = key_of(intent).name,
                        .subresource = subresource,
                        .query = {{"fieldManager", field_manager}, {"force", "true"}},
                        .body = boost::json::serialize(intent),
                        .content_type = "application/apply-patch+yaml"});
}

ApiResult<Json> Client::merge(const CallContext& context, const ResourcePath& path, std::string_view name,
                              const Json& patch) {
  return call(context, {.method = "PATCH",
                        .of = path,
                        .object = std::string(name),
                        .query = {{"fieldManager", options_.field_manager}},
                        .body = boost::json::serialize(patch),
                        .content_type = "application/merge-patch+json"});
}

ApiResult<Json> Client::merge_status(const CallContext& context, const ResourcePath& path,
                                     std::string_view name, const Json& patch) {
  return call(context, {.method = "PATCH",
                        .of = path,
                        .object = std::string(name),
                        .subresource = "status",
                        .query = {{"fieldManager", options_.status_field_manager}},
                        .body = boost::json::serialize(patch),
                        .content_type = "application/merge-patch+json",
                        .tries = 1});
}

ApiStatus Client::remove(const CallContext& context, const ResourcePath& path, std::string_view name,
                         const DeleteOptions& options) {
  return call(context,
              {.method = "DELETE", .of = path, .object = std::string(name), .body = delete_body(options)})
      .map([](const Json&) {});
}

ApiResult<Json> Client::call(const CallContext& context, const Call& call) {
  auto response =
      retried<HttpResponse>(context, call, [&](const CallContext& bounded, const std::string& token) {
        return exchange(context, bounded, call, token);
      });
  if (!response) return tl::unexpected(std::move(response.error()));
  auto body = parse_json(response->body, fmt::format("{}: the answer", call.name()));
  if (!body) return api_failure(ErrorKind::kMalformed, body.error().message);
  return std::move(*body);
}

template <typename Answer>
ApiResult<Answer> Client::retried(const CallContext& context, const Call& call, const Try<Answer>& once) {
  if (call.object && !is_object_name(*call.object)) {
    return api_failure(ErrorKind::kRefusedHere,
                       fmt::format("{}: '{}' is no name of an object", call.name(), *call.object));
  }
  CallContext bounded = context;
  bool credentials_renewed = false;
  bool logs_in = true;  // which takes nothing of the call's own time
  for (int tries = 1;; ++tries) {
    const auto token = credentials_.token(logs_in ? context : bounded);
    if (std::exchange(logs_in, false)) bounded = context.until(clock_.now() + options_.call_timeout);
    auto answer = token.and_then([&](const std::string& known) { return once(bounded, known); });
    if (answer) return answer;
    const ApiError& error = answer.error();
    if (!credentials_renewed && forget_credentials(error, token.value_or(""))) {
      credentials_renewed = true;
      logs_in = true;
    } else if (!wait_for_retry(bounded, error, call, tries)) {
      return answer;
    }
  }
}

bool Client::forget_credentials(const ApiError& error, const std::string& token) {
  if (error.is_unauthorized()) credentials_.forget(token);
  return error.is_unauthorized() || error.kind == ErrorKind::kUntrusted;
}

ApiResult<HttpResponse> Client::exchange(const CallContext& caller, const CallContext& bounded,
                                         const Call& call, const std::string& token) {
  const Clock::TimePoint began = clock_.now();
  const Clock::WallTime sent = clock_.wall_now();
  auto response = transport_.call(bounded, request_of(call, token));
  tell(caller, began, call.verb(), response ? response->head.status : 0);
  if (response) compare_clocks(response->head, sent);
  if (!response) {
    response.error().message = fmt::format("{}: {}", call.name(), response.error().message);
  } else if (!is_success(response->head.status)) {
    return tl::unexpected(error_of_answer(call.name(), response->head, response->body));
  }
  return response;
}

ApiResult<std::unique_ptr<HttpStream>> Client::open_stream(const CallContext& caller,
                                                           const CallContext& bounded, const Call& call,
                                                           const std::string& token) {
  const Clock::TimePoint began = clock_.now();
  auto stream = transport_.open(bounded, request_of(call, token));
  tell(caller, began, call.verb(), stream ? (*stream)->head().status : 0);
  if (!stream) {
    stream.error().message = fmt::format("{}: {}", call.name(), stream.error().message);
    return stream;
  }
  const HttpHead& head = (*stream)->head();
  if (is_success(head.status)) return stream;
  return tl::unexpected(error_of_answer(call.name(), head, read_error_body(bounded, **stream)));
}

// What its caller has soon ended says nothing of the server.
void Client::tell(const CallContext& caller, Clock::TimePoint began, std::string_view verb, int code) {
  const Clock::TimePoint now = clock_.now();
  const bool has_ended = caller.stop.stop_requested() || caller.deadline <= now;
  if (code == 0 && has_ended && now - began < kFairChance) return;
  observer_.on_request(verb, code);
}

void Client::compare_clocks(const HttpHead& head, Clock::WallTime sent) {
  if (const auto ahead = clock_ahead(head, sent, clock_.wall_now())) observer_.on_clocks_compared(*ahead);
}

HttpRequest Client::request_of(const Call& call, const std::string& token) const {
  HttpRequest request{
      .method = call.method,
      .target = fmt::format("{}{}{}", options_.base_path, call.path(), query_string(call.query)),
      .body = call.body,
      .longest_answer = call.longest_answer};
  if (!call.body.empty()) request.headers.emplace_back("Content-Type", call.content_type);
  if (!token.empty()) request.headers.emplace_back("Authorization", fmt::format("Bearer {}", token));
  request.headers.emplace_back("Accept", call.accept);
  request.headers.emplace_back("User-Agent", options_.user_agent);
  if (call.method != "GET") request.may_be_sent = options_.may_write;
  return request;
}

bool Client::wait_for_retry(const CallContext& context, const ApiError& error, const Call& call, int tries) {
  RetryPolicy policy = options_.retry;
  if (call.tries > 0) policy.tries = call.tries;
  const auto wait = wait_before_retry(policy, error, call.repeatable, tries, random_());
  if (!wait) return false;
  const Clock::TimePoint again = clock_.now() + *wait;
  // Better the server's own words now than a time-out later.
  if (again >= context.deadline) return false;
  observer_.on_retry(error, *wait);
  return clock_.sleep_until(again, context.stop);
}

}  // namespace caravan::kube
