// Any bytes as the body of a watch, the first of them the size of the chunks: however they are cut, the lines
// are the same; a watch is only ever asked for from the version that the server gave last, and no event ends
// it for good.
#include <cstddef>
#include <string>

#include "fuzz/lines.h"
#include "fuzz/require.h"
#include "kube/watch/watch_machine.h"

namespace {

using caravan::fuzz::require;
using namespace caravan::kube;

constexpr std::size_t kLongestLine = 1024;
constexpr int kMostActionsBeforeACall = 2;  // a pause may come between

bool tells_a_version(const std::string& type) {
  return type == "ADDED" || type == "MODIFIED" || type == "DELETED" || type == "BOOKMARK";
}

class Watch {
 public:
  Watch() { state_.resource_version = kListed; }

  void take(const Json& event, std::string_view text) {
    const std::string version = text_at(event, {"object", "metadata", "resourceVersion"});
    if (tells_a_version(text_at(event, {"type"})) && !version.empty()) given_last_ = version;
    const WatchAction action = act(EventReceived{event}, text);
    if (!std::holds_alternative<ReadEvent>(action)) go_on(action, text);
  }

  // The watch ends now, as it may after any event.
  void close(std::string_view text) { go_on(act(StreamClosed{}, text), text); }

 private:
  WatchAction act(WatchInput input, std::string_view text) {
    WatchStep next = step(std::move(state_), std::move(input), {.now = {}, .random = 0});
    state_ = std::move(next.state);
    for (const CacheUpdate& update : next.updates) check(update, text);
    if (const auto* open = std::get_if<OpenWatch>(&next.action))
      require(open->resource_version == given_last_, "a watch from another version than the last given",
              text);
    return next.action;
  }

  // Until the server is asked for something; a list is answered, so that there is a version to watch from.
  void go_on(WatchAction action, std::string_view text) {
    for (int i = 0; i < kMostActionsBeforeACall && std::holds_alternative<Wait>(action); ++i)
      action = act(WaitOver{}, text);
    if (std::holds_alternative<ListPage>(action)) {
      given_last_ = kListed;
      action = act(PageReceived{{.items = {}, .resource_version = kListed, .continue_token = ""}}, text);
    }
    require(std::holds_alternative<OpenWatch>(action), "the watch does not go on", text);
    act(WatchOpened{}, text);
  }

  void check(const CacheUpdate& update, std::string_view text) const {
    if (const auto* bookmark = std::get_if<Advance>(&update))
      require(bookmark->resource_version == given_last_, "a bookmark of another version", text);
  }

  const std::string kListed = "7";
  std::string given_last_ = kListed;
  WatchState state_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = caravan::fuzz::text_of(data, size);
  Watch watch;
  for (const std::string& line : caravan::fuzz::lines_of(bytes, kLongestLine)) {
    if (const auto event = parse_json(line, "an event")) watch.take(*event, line);
  }
  watch.close(bytes);
  return 0;
}
