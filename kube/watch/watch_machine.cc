#include "kube/watch/watch_machine.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

#include "kube/api/object.h"
#include "kube/api/resource_version.h"

namespace caravan::kube {
namespace {

// A server, or a proxy before it, may ask for an hour; caches that stand still for so long do harm.
constexpr std::chrono::milliseconds kLongestAskedFor{60'000};

class Step {
 public:
  Step(WatchState state, const Moment& moment) : state_(std::move(state)), moment_(moment) {}

  WatchStep finish(WatchAction action) && {
    return {.state = std::move(state_), .updates = std::move(updates_), .action = std::move(action)};
  }

  WatchAction on(const Started&) { return list_or_watch(); }
  WatchAction on(const WaitOver&) { return list_or_watch(); }

  WatchAction on(const RelistWanted&) {
    state_.resource_version.clear();
    return list_or_watch();
  }

  WatchAction on(PageReceived& received) {
    Page& page = received.page;
    if (page.resource_version.empty()) return relist("the list has no resourceVersion");
    updates_.emplace_back(SetAside{std::move(page.items)});
    grow_pages();
    if (!page.continue_token.empty()) return list_page(page.continue_token);
    state_.resource_version = page.resource_version;
    updates_.emplace_back(ReplaceAll{page.resource_version});
    return open_watch();
  }

  WatchAction on(const WatchOpened&) {
    state_.opened_at = moment_.now;
    state_.event_since_opened = false;
    state_.warned.clear();
    return ReadEvent{};
  }

  WatchAction on(EventReceived& received) {
    state_.event_since_opened = true;
    const std::string type = text_at(received.event, {"type"});
    JsonObject* event = received.event.if_object();
    Json* object = event == nullptr ? nullptr : event->if_contains("object");
    if (type == "ERROR") return on_error_event(object);
    const bool known = type == "ADDED" || type == "MODIFIED" || type == "DELETED" || type == "BOOKMARK";
    if (!known) return ReadEvent{};
    std::string version = object == nullptr ? "" : version_of(*object);
    if (version.empty()) return relist("an event of the watch has no resourceVersion");
    if (compare_versions(version, state_.resource_version) < 0) {
      return relist("the server went back in time, as after a restore");
    }
    state_.resource_version = version;
    if (type == "BOOKMARK") {
      updates_.emplace_back(Advance{std::move(version)});
    } else if (type == "DELETED") {
      updates_.emplace_back(Remove{std::move(*object)});
    } else {
      updates_.emplace_back(Upsert{std::move(*object)});
    }
    return ReadEvent{};
  }

  WatchAction on(const StreamClosed&) {
    const bool lived = state_.event_since_opened || moment_.now - state_.opened_at >= state_.limits.too_short;
    return lived ? open_watch() : wait("the watch was closed as soon as it was opened");
  }

  WatchAction on(const CallFailed& failed) {
    const ApiError& error = failed.error;
    if (error.kind == ErrorKind::kTooLarge && state_.page_size > 1) {
      shrink_pages();
      return list_page(state_.continue_token);
    }
    if (error.is_expired() || error.is_too_large_version()) return relist(error.message);
    return wait(error.message,
                std::min(error.retry_after.value_or(std::chrono::milliseconds{0}), kLongestAskedFor));
  }

 private:
  // Where all objects are large, each larger page would be made and sent in vain: so they are tried ever more
  // rarely.
  void shrink_pages() {
    constexpr int kRarest = 64;
    if (!std::exchange(state_.page_was_too_large, true))
      state_.pages_before_larger = std::min(2 * state_.pages_before_larger, kRarest);
    state_.page_size /= 2;
    state_.pages_taken = 0;
  }

  void grow_pages() {
    state_.page_was_too_large = false;
    if (++state_.pages_taken < state_.pages_before_larger) return;
    state_.page_size = std::min(2 * state_.page_size, state_.limits.page_size);
    state_.pages_taken = 0;
  }

  WatchAction list_or_watch() {
    if (!state_.resource_version.empty()) return open_watch();
    updates_.emplace_back(DropSetAside{});
    state_.continue_token.clear();
    return ListPage{"", state_.page_size, true};
  }

  WatchAction list_page(const std::string& continue_token) {
    state_.continue_token = continue_token;
    return ListPage{continue_token, state_.page_size};
  }

  WatchAction open_watch() const {
    const auto range =
        static_cast<double>((state_.limits.longest_watch - state_.limits.shortest_watch).count());
    const auto extra = std::chrono::seconds(static_cast<std::int64_t>(range * moment_.random));
    return OpenWatch{state_.resource_version, state_.limits.shortest_watch + extra};
  }

  WatchAction on_error_event(const Json* status) {
    const std::string body = status == nullptr ? "" : boost::json::serialize(*status);
    return on(CallFailed{error_of_status("the watch reported", body)});
  }

  WatchAction relist(const std::string& why) {
    state_.resource_version.clear();
    return wait(why);
  }

  WatchAction wait(const std::string& why, std::chrono::milliseconds at_least = {}) {
    if (why != state_.warned) updates_.emplace_back(Warn{why});
    state_.warned = why;
    updates_.emplace_back(DropSetAside{});
    return Wait{std::max(at_least, state_.backoff.after_failure(moment_.now, moment_.random))};
  }

  WatchState state_;
  const Moment& moment_;
  std::vector<CacheUpdate> updates_;
};

}  // namespace

WatchStep step(WatchState state, WatchInput input, const Moment& moment) {
  Step next(std::move(state), moment);
  WatchAction action = std::visit([&](auto& outcome) { return next.on(outcome); }, input);
  return std::move(next).finish(std::move(action));
}

}  // namespace caravan::kube
