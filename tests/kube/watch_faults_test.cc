// What a server or a network can do to an informer, and that the cache is right afterwards.

#include <gmock/gmock.h>

#include <future>
#include <latch>
#include <optional>

#include "common/testing/turn.h"
#include "kube/watch/informer.h"
#include "tests/kube/objects.h"
#include "tests/kube/scripted_client.h"

namespace caravan::kube::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr auto kFirstBackoff = 400ms;                       // 800 ms · kRandom
constexpr std::chrono::milliseconds kLongestBackoff = 15s;  // 30 s · kRandom
constexpr auto kWatchTimeout = 450s;                        // between 300 s and 600 s

class WatchFaults : public ScriptedClientTest {
 protected:
  // The n-th list gets the n-th of `lists`, and so do watches.
  void watch(std::vector<Script> lists, std::vector<Script> watches, InformerOptions options = {}) {
    serve([on_list = in_turn(std::move(lists)), on_watch = in_turn(std::move(watches))](Exchange& exchange) {
      const bool is_watch = exchange.request().query.find("watch=1") != std::string::npos;
      (is_watch ? on_watch : on_list)(exchange);
    });
    inform([this](const Change& change) { remember(change); }, std::move(options));
  }
  void inform(Informer::Handler on_change, InformerOptions options = {}) {
    options.path = pods_;
    informer_.emplace(
        *client_, clock_, [] { return kRandom; }, recorder_, std::move(options), std::move(on_change));
    informer_->start();
  }

  void remember(const Change& change) {
    const char* kind = change.before == nullptr ? "+" : change.after == nullptr ? "-" : "~";
    const std::lock_guard guard(mutex_);
    story_.push_back(
        fmt::format("{}{}", kind, change.after == nullptr ? change.before->uid() : change.after->uid()));
  }
  std::vector<std::string> story() const {
    const std::lock_guard guard(mutex_);
    return story_;
  }
  void await_story(std::size_t length) const {
    await([&] { return story().size() >= length; });
  }
  void pass_backoff(Clock::Duration wait = kFirstBackoff) {
    clock_.await_sleeper(wait);
    clock_.advance(wait);
  }
  std::vector<std::string> watched_versions() const {
    std::vector<std::string> versions;
    for (const Received& request : server_->requests()) {
      const std::size_t at = request.query.find("resourceVersion=");
      if (at != std::string::npos)
        versions.push_back(request.query.substr(at + 16, request.query.find('&', at) - at - 16));
    }
    return versions;
  }

  static Script list(const std::vector<Json>& items, const std::string& version,
                     const std::string& token = "") {
    return reply_with(200, list_of(items, version, token));
  }
  // These events, and then silence.
  static Script events(const std::string& lines) {
    return [lines](Exchange& exchange) {
      exchange.begin_stream();
      if (!lines.empty()) exchange.chunk(lines);
      exchange.hang();
    };
  }
  static Script events_and_close(const std::string& lines) {
    return [lines](Exchange& exchange) {
      exchange.begin_stream();
      exchange.chunk(lines);
      exchange.end_stream();
    };
  }

  mutable std::mutex mutex_;
  std::vector<std::string> story_;
  std::optional<Informer> informer_;
};

TEST_F(WatchFaults, GoneInTheStreamLeadsToAFullList) {
  watch({list({pod("a", "1", "1")}, "5"), list({pod("a", "1", "1"), pod("b", "2", "8")}, "9")},
        {events(error_event(410, "too old resource version: 5 (8)")), events("")});
  pass_backoff();
  await_story(2);
  EXPECT_THAT(story(), ElementsAre("+1", "+2"));
  await([&] { return watched_versions().size() == 2; });
  EXPECT_THAT(watched_versions(), ElementsAre("5", "9")) << "the expired version must not be asked for again";
}

TEST_F(WatchFaults, GoneAsAnHttpStatusLeadsToAFullList) {
  watch({list({}, "5"), list({pod("b", "2", "8")}, "9")},
        {reply_with(410, status_json(410, "Expired")), events("")});
  pass_backoff();
  await_story(1);
  await([&] { return watched_versions().size() == 2; });
  EXPECT_THAT(watched_versions(), ElementsAre("5", "9"));
}

TEST_F(WatchFaults, GoneOnTheSecondPageStartsTheListOver) {
  watch({list({pod("a", "1", "1")}, "5", "token"), reply_with(410, status_json(410, "Expired")),
         list({pod("b", "2", "8")}, "9")},
        {events("")});
  pass_backoff();
  await_story(1);
  EXPECT_THAT(story(), ElementsAre("+2")) << "half a list must not reach the cache";
  EXPECT_EQ(requests("GET", "continue=token"), 1);
}

TEST_F(WatchFaults, AServerBehindOurVersionIsListedAnew) {
  watch({list({pod("a", "1", "90")}, "100"), list({}, "7")},
        {reply_with(504, status_json(504, "Timeout", "Too large resource version: 100, current: 7")),
         events("")});
  pass_backoff();
  await_story(2);
  EXPECT_THAT(story(), ElementsAre("+1", "-1"));
  await([&] { return watched_versions().size() == 2; });
  EXPECT_THAT(watched_versions(), ElementsAre("100", "7"));
}

TEST_F(WatchFaults, EventsMayBeSplitAnywhere) {
  const std::string lines = event("ADDED", pod("a", "1", "6")) + event("ADDED", pod("b", "2", "7"));
  watch({list({}, "5")}, {[lines](Exchange& exchange) {
          exchange.begin_stream();
          for (const char byte : lines) exchange.chunk({&byte, 1});
          exchange.hang();
        }});
  await_story(2);
  EXPECT_THAT(story(), ElementsAre("+1", "+2"));
}

TEST_F(WatchFaults, AWatchMayCarryMoreThanTheLibrarysEightMegabytes) {
  CARAVAN_BY_TURNS();
  constexpr int kEvents = 10;
  watch({list({}, "5")}, {[](Exchange& exchange) {
          exchange.begin_stream();
          for (int i = 0; i < kEvents; ++i) {
            Json big = pod(fmt::format("p{}", i), std::to_string(i), std::to_string(6 + i));
            big.get_object()["data"] = std::string(std::size_t{1} << 20, 'x');
            exchange.chunk(event("ADDED", big));
          }
          exchange.hang();
        }});
  await_story(kEvents);
  EXPECT_EQ(informer_->store().size(), static_cast<std::size_t>(kEvents));
  EXPECT_EQ(recorder_.watches, 1);
}

TEST_F(WatchFaults, APageThatIsTooLongComesInParts) {
  Json large = pod("a", "1", "1");
  large.get_object()["data"] = std::string(std::size_t{5} << 20, 'x');
  watch(
      {list({large, pod("b", "2", "2")}, "5"), list({large}, "5", "token"), list({pod("b", "2", "2")}, "5")},
      {events("")}, {.path = {}, .limits = {.page_size = 2}});
  await_story(2);
  EXPECT_THAT(story(), ElementsAre("+1", "+2"));
  EXPECT_EQ(requests("GET", "limit=2"), 1);
  EXPECT_EQ(requests("GET", "limit=1"), 2);
  EXPECT_EQ(recorder_.relists, 1);
}

TEST_F(WatchFaults, WhatIsNotWantedLeavesNoTrace) {
  const auto keep_of_job = [](const Json& object) {
    return controller_uid_of(object) == "job" ? std::optional(object) : std::nullopt;
  };
  watch({list({pod("a", "1", "1"), pod("b", "2", "2", "foreign")}, "5")},
        {events(event("ADDED", pod("c", "3", "6", "foreign")) +
                event("MODIFIED", pod("a", "1", "7", "foreign")) +
                event("DELETED", pod("b", "2", "8", "foreign")))},
        {.path = {}, .keep = keep_of_job});
  await([&] { return informer_->store().resource_version() == "8"; });
  EXPECT_THAT(story(), ElementsAre("+1", "-1")) << "it was given another owner";
  EXPECT_EQ(informer_->store().size(), 0U);
}

TEST_F(WatchFaults, ARenewedCacheIsNotOlderThanThatWhateverItsWatchSays) {
  watch({list({pod("a", "1", "1")}, "5"), list({pod("b", "2", "8")}, "9")}, {events("")});
  ASSERT_TRUE(informer_->wait_until_synced({}));
  await([&] { return watched_versions().size() == 1; });
  informer_->renew();
  ASSERT_TRUE(informer_->wait_until_synced({}));
  EXPECT_EQ(informer_->store().resource_version(), "9");
  EXPECT_THAT(story(), ElementsAre("+1", "-1", "+2"));
  await([&] { return watched_versions().size() == 2; });
  EXPECT_THAT(watched_versions(), ElementsAre("5", "9"));
}

TEST_F(WatchFaults, AListThatBeganBeforeARenewalDoesNotCount) {
  std::latch answered(1);
  std::latch renewed(1);
  watch({[&](Exchange& exchange) {
           answered.count_down();
           renewed.wait();
           list({pod("a", "1", "1")}, "5")(exchange);
         },
         list({pod("b", "2", "8")}, "9")},
        {events("")});
  answered.wait();
  informer_->renew();
  renewed.count_down();
  EXPECT_TRUE(informer_->wait_until_synced({}));
  EXPECT_THAT(story(), ElementsAre("+2"));
  informer_.reset();
  server_.reset();  // the thread of the first list, which nothing waits for, reads what stands on this stack
}

TEST_F(WatchFaults, TheCacheIsOfUseWhileItIsRenewed) {
  watch({list({pod("a", "1", "1")}, "5"), [](Exchange& exchange) { exchange.hang(); }}, {events("")});
  ASSERT_TRUE(informer_->wait_until_synced({}));
  informer_->renew();
  await([&] { return recorder_.relists == 2; });
  EXPECT_TRUE(informer_->synced());
  EXPECT_NE(informer_->store().get({"s", "a"}), nullptr);
  EXPECT_FALSE(informer_->wait_until_synced({.deadline = clock_.now()}));
}

TEST_F(WatchFaults, ASilentHalfOpenConnectionEndsWithTheTimeout) {
  watch({list({}, "5")}, {events(""), events(event("ADDED", pod("a", "1", "6")))});
  clock_.await_sleeper(kWatchTimeout + 5s);
  clock_.advance(kWatchTimeout + 5s);
  await_story(1);
  EXPECT_EQ(recorder_.relists, 1);
  EXPECT_EQ(requests("GET", "timeoutSeconds=450"), 2);
}

TEST_F(WatchFaults, AServerCloseIsResumedWithoutAList) {
  watch({list({}, "5")}, {events_and_close(event("ADDED", pod("a", "1", "6"))),
                          events(event("MODIFIED", pod("a", "1", "7")))});
  await_story(2);
  EXPECT_THAT(story(), ElementsAre("+1", "~1"));
  EXPECT_THAT(watched_versions(), ElementsAre("5", "6"));
  EXPECT_EQ(recorder_.relists, 1);
}

TEST_F(WatchFaults, ALostConnectionIsResumedFromTheLastEvent) {
  watch({list({}, "5")}, {[](Exchange& exchange) {
                            exchange.begin_stream();
                            exchange.chunk(event("ADDED", pod("a", "1", "6")) + R"({"type":"MODI)");
                            exchange.drop();
                          },
                          events(event("MODIFIED", pod("a", "1", "7")))});
  await_story(2);
  EXPECT_THAT(watched_versions(), ElementsAre("5", "6"));
  EXPECT_EQ(recorder_.relists, 1);
}

TEST_F(WatchFaults, BookmarksAloneKeepTheVersionFresh) {
  watch({list({}, "5")}, {events_and_close(bookmark("50") + bookmark("60")), events("")});
  await([&] { return watched_versions().size() == 2; });
  EXPECT_THAT(watched_versions(), ElementsAre("5", "60"));
  EXPECT_EQ(informer_->store().resource_version(), "60");
  EXPECT_EQ(requests("GET", "allowWatchBookmarks=true"), 2);
}

TEST_F(WatchFaults, AServerThatIsAwayMakesNoThreadStuck) {
  serve([](Exchange& exchange) { exchange.drop(); });
  connect({}, {.retry = {.tries = 1}});
  inform([](const Change&) {});
  std::chrono::milliseconds backoff = kFirstBackoff;
  for (auto away = 0ms; away < 10min; away += backoff) {
    pass_backoff(backoff);
    EXPECT_EQ(informer_->stuck_for(), 0s) << away.count() << " ms";
    backoff = std::min(2 * backoff, kLongestBackoff);
  }
}

TEST_F(WatchFaults, AServerThatSaysNothingMakesNoThreadStuck) {
  watch({list({}, "5")}, {events("")});
  for (int i = 0; i < 3; ++i) {
    pass_backoff(kWatchTimeout + 5s);
    EXPECT_EQ(informer_->stuck_for(), 0s);
  }
}

TEST_F(WatchFaults, AThreadThatHangsIsStuck) {
  serve(list({pod("a", "1", "1")}, "5"));
  std::latch hangs(1);
  std::latch goes_on(1);
  inform([&](const Change&) {
    hangs.count_down();
    goes_on.wait();
  });
  hangs.wait();
  EXPECT_EQ(informer_->stuck_for(), 0s);
  clock_.advance(10min);
  EXPECT_EQ(informer_->stuck_for(), 10min);
  goes_on.count_down();
  informer_.reset();  // its thread reads what stands on this stack
}

TEST_F(WatchFaults, AnInternalErrorInTheStreamBacksOffAndResumes) {
  watch({list({}, "5")},
        {events(error_event(500, "etcd has no leader")), events(event("ADDED", pod("a", "1", "6")))});
  pass_backoff();
  await_story(1);
  EXPECT_THAT(watched_versions(), ElementsAre("5", "5"));
  EXPECT_EQ(recorder_.relists, 1);
}

TEST_F(WatchFaults, ForbiddenIsTriedAgainSaidOnceAndNeverSynced) {
  watch({reply_with(403, status_json(403, "Forbidden")), reply_with(403, status_json(403, "Forbidden")),
         list({pod("a", "1", "1")}, "5")},
        {events("")});
  pass_backoff();
  clock_.await_sleeper(2 * kFirstBackoff);
  EXPECT_FALSE(informer_->synced());
  EXPECT_EQ(recorder_.warnings().size(), 1U);
  clock_.advance(2 * kFirstBackoff);
  EXPECT_TRUE(informer_->wait_until_synced({}));
}

TEST_F(WatchFaults, ThrottlingIsObeyedByWatchesToo) {
  watch({list({}, "5")}, {reply_with(429, status_json(429, "TooManyRequests"), {{"Retry-After", "7"}}),
                          events(event("ADDED", pod("a", "1", "6")))});
  pass_backoff(7s);
  await_story(1);
}

TEST_F(WatchFaults, WhoWaitsForTheFirstListWaitsNoLongerThanAllowed) {
  watch({[](Exchange& exchange) { exchange.hang(); }}, {});
  auto synced = std::async(std::launch::async,
                           [this] { return informer_->wait_until_synced({.deadline = clock_.now() + 2s}); });
  clock_.await_sleeper(2s);
  clock_.advance(2s);
  EXPECT_FALSE(synced.get());
}

// Of many objects a list takes long, and whoever gives it up begins it again.
TEST_F(WatchFaults, WhoWaitsForAListWaitsOnWhileItsPagesCome) {
  std::latch first(1);
  watch({[&](Exchange& exchange) {
           first.wait();
           list({pod("a", "1", "1")}, "5", "token")(exchange);
         },
         [](Exchange& exchange) { exchange.hang(); }},
        {});
  const Clock::TimePoint begun = clock_.now();
  auto filled = std::async(std::launch::async, [this] { return informer_->wait_while_pages_come({}, 10s); });
  clock_.await_sleeper(10s);
  clock_.advance(7s);
  first.count_down();
  await([&] { return informer_->heard_at() == begun + 7s; });
  clock_.advance(3s);
  clock_.await_sleeper(7s);
  EXPECT_TRUE(informer_->awaits_list());
  clock_.advance(7s);
  EXPECT_FALSE(filled.get()) << "nothing came for ten seconds";
}

TEST_F(WatchFaults, AListThatBeginsAnewAndComesNoFurtherIsGivenUp) {
  watch({list({pod("a", "1", "1")}, "5", "token"), reply_with(410, status_json(410, "Expired")),
         list({pod("a", "1", "1")}, "5", "token"), [](Exchange& exchange) { exchange.hang(); }},
        {});
  auto filled = std::async(std::launch::async, [this] { return informer_->wait_while_pages_come({}, 10s); });
  clock_.await_sleeper(10s);
  pass_backoff();
  await([&] { return requests("GET", "continue=token") == 2; });
  clock_.advance(10s - kFirstBackoff);
  EXPECT_FALSE(filled.get());
}

TEST_F(WatchFaults, TheAgeOfTheCacheIsWhenTheServerLastSpoke) {
  std::latch later(1);
  watch({list({}, "5")}, {[&](Exchange& exchange) {
          exchange.begin_stream();
          later.wait();
          exchange.chunk(bookmark("60"));
          exchange.hang();
        }});
  ASSERT_TRUE(informer_->wait_until_synced({}));
  const Clock::TimePoint listed_at = clock_.now();
  EXPECT_EQ(informer_->heard_at(), listed_at);
  clock_.await_sleeper(kWatchTimeout + 5s);
  clock_.advance(60s);
  EXPECT_EQ(informer_->heard_at(), listed_at);
  later.count_down();
  await([&] { return informer_->heard_at() == listed_at + 60s; });
}

TEST_F(WatchFaults, ADeletionMissedDuringADisconnectIsMadeUp) {
  watch({list({pod("a", "1", "1"), pod("b", "2", "2")}, "5"), list({pod("b", "2", "2")}, "9")},
        {[](Exchange& exchange) { exchange.drop(); }, reply_with(410, status_json(410, "Expired")),
         events("")});
  pass_backoff();
  pass_backoff(2 * kFirstBackoff);
  await_story(3);
  EXPECT_THAT(story(), ElementsAre("+1", "+2", "-1"));
}

TEST_F(WatchFaults, AnObjectRecreatedDuringADisconnectIsAnotherObject) {
  watch({list({pod("a", "1", "1", "old-job")}, "5"), list({pod("a", "2", "8", "new-job")}, "9")},
        {events(error_event(410, "too old")), events("")});
  pass_backoff();
  await_story(3);
  EXPECT_THAT(story(), ElementsAre("+1", "-1", "+2"));
  EXPECT_TRUE(informer_->store().owned_by("s", "old-job").empty());
  EXPECT_EQ(informer_->store().owned_by("s", "new-job").size(), 1U);
}

TEST_F(WatchFaults, StopsAtOnceWhereverItIs) {
  watch({list({}, "5")}, {events("")});  // reading a silent stream
  await([&] { return watched_versions().size() == 1; });
  informer_.reset();

  watch({[](Exchange& exchange) { exchange.hang(); }}, {});  // in a list
  await([&] { return requests("GET") == 1; });
  informer_.reset();

  watch({reply_with(403, "")}, {});  // in its backoff
  clock_.await_sleeper(kFirstBackoff);
  informer_.reset();
}

TEST_F(WatchFaults, WhatNobodyReadsIsNotKept) {
  Json managed = pod("a", "1", "1");
  managed.get_object()["metadata"].get_object()["managedFields"] = JsonArray{};
  watch({list({managed}, "5")}, {events("")});
  ASSERT_TRUE(informer_->wait_until_synced({}));
  EXPECT_EQ(find(informer_->store().get({"s", "a"})->parse(), {"metadata", "managedFields"}), nullptr);
}

}  // namespace
}  // namespace caravan::kube::testing
