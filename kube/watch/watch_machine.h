// The list-then-watch protocol of one resource as a pure state machine: input in, cache updates and one
// action out.
//
// The shell (informer.h) does what `action` says and comes back with its outcome. Guarantees, whatever the
// server does: resourceVersions are taken from lists as a whole, events and bookmarks, never from the items
// of a list; a list reaches the cache as a whole or not at all, but its pages are handed over one by one, so
// that no more than one of them is held; an expired version (410 in either form) or
// one the server is behind of (504, or an older version in the stream) is dropped and never asked for again;
// every failure waits with backoff, at least as long as the server asks for within a minute, and no number of
// failures ends the loop.
#pragma once

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include "kube/api/api_error.h"
#include "kube/api/json.h"
#include "kube/client/backoff.h"

namespace caravan::kube {

struct Page {
  JsonArray items;
  std::string resource_version;
  std::string continue_token;  // empty on the last page
};

// Inputs: what the last action came to.
struct Started {};
struct PageReceived {
  Page page;
};
struct WatchOpened {};
struct EventReceived {
  Json event;
};
struct StreamClosed {};  // by the server, the network or the time-out
struct CallFailed {
  ApiError error;
};
struct WaitOver {};
struct RelistWanted {};  // instead of the outcome of the last action
using WatchInput = std::variant<Started, PageReceived, WatchOpened, EventReceived, StreamClosed, CallFailed,
                                WaitOver, RelistWanted>;

// Actions: what to do next.
struct ListPage {
  std::string continue_token;
  int limit = 0;
  bool begins = false;  // the list, and does not ask again for less of its first page
  bool operator==(const ListPage&) const = default;
};
struct OpenWatch {
  std::string resource_version;
  std::chrono::seconds timeout;
  bool operator==(const OpenWatch&) const = default;
};
struct ReadEvent {
  bool operator==(const ReadEvent&) const = default;
};
struct Wait {
  std::chrono::milliseconds duration;
  bool operator==(const Wait&) const = default;
};
using WatchAction = std::variant<ListPage, OpenWatch, ReadEvent, Wait>;

// Cache updates, in order.
struct SetAside {  // a page of a list
  JsonArray items;
};
struct DropSetAside {};  // that list comes to nothing
struct ReplaceAll {      // by what was set aside
  std::string resource_version;
};
struct Upsert {
  Json object;
};
struct Remove {
  Json object;
};
struct Advance {  // a bookmark: nothing changed up to this version
  std::string resource_version;
};
struct Warn {
  std::string message;
};
using CacheUpdate = std::variant<SetAside, DropSetAside, ReplaceAll, Upsert, Remove, Advance, Warn>;

struct WatchLimits {
  BackoffPolicy backoff = {};
  // Of a list. A page that is too large to take is asked for again with half of that, and after some pages of
  // that size with more.
  int page_size = 500;
  // The server is asked to end each watch at a random time between these.
  std::chrono::seconds shortest_watch{300};
  std::chrono::seconds longest_watch{600};
  // A watch that ends sooner, without an event, counts as a failure: some servers and proxies close at once.
  std::chrono::milliseconds too_short{1000};
};

struct WatchState {
  explicit WatchState(WatchLimits with = {})
      : limits(with), backoff(with.backoff), page_size(with.page_size) {}

  WatchLimits limits;
  Backoff backoff;
  std::string resource_version;  // to watch from; empty: list first
  std::string continue_token;    // of the page that was asked for last
  int page_size;
  int pages_taken = 0;  // of that size
  int pages_before_larger = 1;
  bool page_was_too_large = false;  // the last one that was asked for
  Clock::TimePoint opened_at{};
  bool event_since_opened = false;
  std::string warned;  // the failure that was reported last and still lasts
};

struct Moment {
  Clock::TimePoint now;
  double random;  // uniform in [0, 1)
};

struct WatchStep {
  WatchState state;
  std::vector<CacheUpdate> updates;
  WatchAction action;
};

WatchStep step(WatchState state, WatchInput input, const Moment& moment);

}  // namespace caravan::kube
