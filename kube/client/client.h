// Calls of the Kubernetes API on untyped JSON objects.
//
// Every call but watch ends within the call time-out of the options, retries included, which begins once
// there are credentials: a user may have to log in for them. Throttling (429) and 5xx are waited out as
// retry.h says, and after 401, or a certificate that is not trusted, the credentials are read again once.
// Errors name the call. The Date of each answer that came within a second is held against our own clock, for
// the observer. `may_write` is asked for each write right before its bytes leave, by the transport's thread,
// so that a leader that lost its lease cannot write. Safe to use from several threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/call_context.h"
#include "kube/api/json.h"
#include "kube/api/resource_path.h"
#include "kube/client/backoff.h"
#include "kube/client/observer.h"
#include "kube/client/retry.h"
#include "kube/config/credentials.h"
#include "kube/transport/transport.h"
#include "kube/watch/watch_machine.h"
#include "kube/watch/watch_stream.h"

namespace caravan::kube {

struct ClientOptions {
  std::string user_agent = "caravan";
  std::string field_manager = "caravan";  // of server-side apply
  std::string status_field_manager = "caravan-status";
  std::string base_path = {};
  std::chrono::milliseconds call_timeout{30'000};
  RetryPolicy retry = {};
  std::function<bool()> may_write = {};  // absent: always
};

// What is asked for of each object: kMetadata leaves out all but its kind and metadata.
enum class Part { kWhole, kMetadata };

struct ListOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  int limit = 500;
  std::string continue_token = {};
  Part part = Part::kWhole;
  std::size_t longest_answer = 0;  // bytes; a longer one is kTooLarge. 0: any
};

struct WatchOptions {
  std::string label_selector = {};
  std::string field_selector = {};
  std::string resource_version = {};
  Part part = Part::kWhole;
  std::chrono::seconds timeout{300};  // asked of the server; the stream ends 5 s later in any case
};

enum class Propagation { kBackground, kForeground };

struct DeleteOptions {
  std::string uid = {};  // refused with 409 when the object is another one by now
  std::string resource_version = {};
  Propagation propagation = Propagation::kBackground;
  std::optional<int> grace_period_seconds = {};
};

// Fields that the server's schema does not have, as that of an older one.
enum class UnknownFields { kDropped, kRefused };

class Client {
 public:
  Client(Transport& transport, Credentials& credentials, Clock& clock, Random random, ClientOptions options,
         Observer& observer);

  // The same server and rights under other options: a leader writes with its lease only.
  Client with(ClientOptions options) const;

  ApiResult<Json> get(const CallContext& context, const ResourcePath& path, std::string_view name,
                      std::string_view subresource = {});
  // One page, with a quorum read.
  ApiResult<Page> list_page(const CallContext& context, const ResourcePath& path, const ListOptions& options);
  // Every page; starts over once when the token of a page has expired.
  ApiResult<Page> list(const CallContext& context, const ResourcePath& path, const ListOptions& options);
  ApiResult<WatchStream> watch(const CallContext& context, const ResourcePath& path,
                               const WatchOptions& options);

  // What is no object, read while the server writes it: a container's log (subresource "log" of a pod). Only
  // opening it is a call, with its time-out and its retries.
  ApiResult<std::unique_ptr<HttpStream>> open(const CallContext& context, const ResourcePath& path,
                                              std::string_view name, std::string_view subresource,
                                              const Query& query);

  ApiResult<Json> create(const CallContext& context, const ResourcePath& path, const Json& object,
                         UnknownFields unknown = UnknownFields::kDropped);
  // The same tried out: the server judges as it would, unknown fields included, and keeps nothing.
  ApiResult<Json> try_create(const CallContext& context, const ResourcePath& path, const Json& object);
  // Replaces what was read before: the object must hold its resourceVersion. One try; a conflict is the
  // caller's.
  ApiResult<Json> replace(const CallContext& context, const ResourcePath& path, const Json& object);
  // Server-side apply, forced. `intent` is all that we want of the object: a field that is left out is given
  // up.
  ApiResult<Json> apply(const CallContext& context, const ResourcePath& path, const Json& intent);
  // The same for the status, which has a field manager of its own; everything but status is ignored by the
  // server.
  ApiResult<Json> apply_status(const CallContext& context, const ResourcePath& path, const Json& intent);
  // JSON merge patch (RFC 7386).
  ApiResult<Json> merge(const CallContext& context, const ResourcePath& path, std::string_view name,
                        const Json& patch);
  // The same of the status. For objects whose status others write too: a patch that names the resourceVersion
  // is refused with a conflict when they have written since. One try.
  ApiResult<Json> merge_status(const CallContext& context, const ResourcePath& path, std::string_view name,
                               const Json& patch);
  ApiStatus remove(const CallContext& context, const ResourcePath& path, std::string_view name,
                   const DeleteOptions& options);

 private:
  struct Call;
  // With the token of that moment; `bounded` ends with the call time-out, too.
  template <typename Answer>
  using Try = std::function<ApiResult<Answer>(const CallContext& bounded, const std::string& token)>;

  ApiResult<Json> apply_to(const CallContext& context, const ResourcePath& path, const Json& intent,
                           const std::string& subresource, const std::string& field_manager);
  ApiResult<Json> call(const CallContext& context, const Call& call);
  template <typename Answer>
  ApiResult<Answer> retried(const CallContext& context, const Call& call, const Try<Answer>& once);
  ApiResult<HttpResponse> exchange(const CallContext& caller, const CallContext& bounded, const Call& call,
                                   const std::string& token);
  ApiResult<std::unique_ptr<HttpStream>> open_stream(const CallContext& caller, const CallContext& bounded,
                                                     const Call& call, const std::string& token);
  // Whether those that were read may be to blame: the token of the call, or, where a certificate is not
  // trusted, files that the transport reads again.
  bool forget_credentials(const ApiError& error, const std::string& token);
  void tell(const CallContext& caller, Clock::TimePoint began, std::string_view verb, int code);
  void compare_clocks(const HttpHead& head, Clock::WallTime sent);
  HttpRequest request_of(const Call& call, const std::string& token) const;
  bool wait_for_retry(const CallContext& context, const ApiError& error, const Call& call, int tries);

  Transport& transport_;
  Credentials& credentials_;
  Clock& clock_;
  Random random_;
  ClientOptions options_;
  Observer& observer_;
};

}  // namespace caravan::kube
