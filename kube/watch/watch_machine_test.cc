#include "kube/watch/watch_machine.h"

#include <gtest/gtest.h>

namespace caravan::kube {
namespace {

using namespace std::chrono_literals;

// Drives the machine as the informer does and keeps what it said.
class WatchMachine : public ::testing::Test {
 protected:
  template <typename Input>
  WatchAction feed(Input input) {
    WatchStep next = step(std::move(state_), std::move(input), {.now = now_, .random = 0.5});
    state_ = std::move(next.state);
    for (CacheUpdate& update : next.updates) {
      if (const auto* warning = std::get_if<Warn>(&update)) warnings_.push_back(warning->message);
      if (const auto* page = std::get_if<SetAside>(&update)) set_aside_ += page->items.size();
      if (std::holds_alternative<DropSetAside>(update)) set_aside_ = 0;
      updates_.push_back(std::move(update));
    }
    return next.action;
  }

  WatchAction page(const std::string& version, const std::string& token = "") {
    return feed(
        PageReceived{{.items = {object("a", "1000")}, .resource_version = version, .continue_token = token}});
  }
  WatchAction event(const std::string& type, const std::string& version) {
    return feed(EventReceived{JsonObject{{"type", type}, {"object", object("a", version)}}});
  }
  WatchAction error_event(int code, const std::string& message = "m") {
    return feed(EventReceived{
        JsonObject{{"type", "ERROR"},
                   {"object", JsonObject{{"kind", "Status"}, {"code", code}, {"message", message}}}}});
  }
  WatchAction too_large() { return feed(CallFailed{{.kind = ErrorKind::kTooLarge, .message = "m"}}); }
  WatchAction failed(int code, const std::string& message = "m") {
    return feed(CallFailed{{.message = message, .code = code}});
  }
  void watch_from(const std::string& version) {
    feed(Started{});
    page(version);
    feed(WatchOpened{});
    updates_.clear();
  }

  static JsonObject object(const std::string& name, const std::string& version) {
    JsonObject metadata{{"name", name}};
    if (!version.empty()) metadata["resourceVersion"] = version;
    return {{"metadata", std::move(metadata)}};
  }

  static bool waits(const WatchAction& action) { return std::holds_alternative<Wait>(action); }
  static std::string watched_version(const WatchAction& action) {
    const auto* open = std::get_if<OpenWatch>(&action);
    return open == nullptr ? "no watch" : open->resource_version;
  }
  static ListPage page_after(const std::string& token, int limit = 500) { return {token, limit}; }
  static bool lists_from_the_start(const WatchAction& action) {
    return action == WatchAction(ListPage{"", 500, true});
  }

  WatchState state_;
  std::size_t set_aside_ = 0;
  Clock::TimePoint now_{1h};
  std::vector<CacheUpdate> updates_;
  std::vector<std::string> warnings_;
};

TEST_F(WatchMachine, ListsThenWatchesFromTheVersionOfTheListNotOfItsItems) {
  EXPECT_TRUE(lists_from_the_start(feed(Started{})));
  EXPECT_EQ(watched_version(page("42")), "42");
}

TEST_F(WatchMachine, AListReachesTheCacheOnlyWithItsLastPage) {
  feed(Started{});
  EXPECT_EQ(page("42", "token"), WatchAction(page_after("token")));
  EXPECT_TRUE(std::holds_alternative<SetAside>(updates_.back()));
  page("42");
  EXPECT_EQ(std::get<ReplaceAll>(updates_.back()).resource_version, "42");
  EXPECT_EQ(set_aside_, 2U);
}

TEST_F(WatchMachine, APageTokenThatExpiredStartsTheListOver) {
  feed(Started{});
  page("42", "token");
  EXPECT_TRUE(waits(failed(410)));
  EXPECT_TRUE(lists_from_the_start(feed(WaitOver{})));
  page("50");
  EXPECT_EQ(set_aside_, 1U) << "items of the first try must not stay";
}

TEST_F(WatchMachine, APageThatIsTooLargeIsAskedForInSmallerParts) {
  feed(Started{});
  page("42", "token");
  EXPECT_EQ(too_large(), WatchAction(page_after("token", 250)));
  EXPECT_EQ(too_large(), WatchAction(page_after("token", 125)));
  page("42", "next");
  EXPECT_EQ(page("42", "next"), WatchAction(page_after("next", 250))) << "not all objects need be large";
  page("42", "next");
  EXPECT_EQ(page("42", "last"), WatchAction(page_after("last", 500)));
  EXPECT_EQ(set_aside_, 5U) << "what came before stays";
  for (int limit = 250; limit > 0; limit /= 2) too_large();
  EXPECT_TRUE(waits(too_large())) << "nothing is smaller than one object";
}

// As pods of workers are: 11 KB each.
TEST_F(WatchMachine, WhereAllObjectsAreLargeFewPagesAreAskedForInVain) {
  WatchAction next = feed(Started{});
  int refused = 0;
  for (int taken = 0; taken < 320;) {
    if (std::get<ListPage>(next).limit > 300) {
      next = too_large();
      ++refused;
    } else {
      next = page("42", "token");
      ++taken;
    }
  }
  EXPECT_LE(refused, 12);
}

TEST_F(WatchMachine, AListThatIsWantedBeginsAtOnceWhateverIsUnderWay) {
  watch_from("42");
  EXPECT_TRUE(lists_from_the_start(feed(RelistWanted{})));
  page("50", "token");
  EXPECT_TRUE(lists_from_the_start(feed(RelistWanted{})));
  page("60");
  EXPECT_EQ(set_aside_, 1U) << "pages of the list that was given up must not stay";
  failed(500);
  EXPECT_TRUE(lists_from_the_start(feed(RelistWanted{}))) << "nobody waits out a backoff";
}

TEST_F(WatchMachine, AListWithoutAVersionIsNotBelieved) {
  feed(Started{});
  EXPECT_TRUE(waits(page("")));
  EXPECT_TRUE(lists_from_the_start(feed(WaitOver{})));
}

TEST_F(WatchMachine, AServerCloseResumesFromTheLastEventWithoutAList) {
  watch_from("42");
  event("MODIFIED", "43");
  EXPECT_EQ(watched_version(feed(StreamClosed{})), "43");
}

TEST_F(WatchMachine, ABookmarkMovesTheVersionAndNothingElse) {
  watch_from("42");
  EXPECT_EQ(event("BOOKMARK", "60"), WatchAction(ReadEvent{}));
  ASSERT_EQ(updates_.size(), 1U);
  EXPECT_EQ(std::get<Advance>(updates_[0]).resource_version, "60");
  EXPECT_EQ(watched_version(feed(StreamClosed{})), "60");
}

TEST_F(WatchMachine, EventsBecomeCacheUpdates) {
  watch_from("42");
  event("ADDED", "43");
  event("MODIFIED", "44");
  event("DELETED", "45");
  ASSERT_EQ(updates_.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<Upsert>(updates_[0]));
  EXPECT_TRUE(std::holds_alternative<Upsert>(updates_[1]));
  EXPECT_TRUE(std::holds_alternative<Remove>(updates_[2]));
}

TEST_F(WatchMachine, AnExpiredVersionIsDroppedInEitherFormOf410) {
  watch_from("42");
  EXPECT_TRUE(waits(error_event(410)));
  EXPECT_TRUE(lists_from_the_start(feed(WaitOver{})));

  page("50");
  EXPECT_TRUE(waits(failed(410)));
  EXPECT_TRUE(lists_from_the_start(feed(WaitOver{})));
}

TEST_F(WatchMachine, AVersionThatTheServerIsBehindOfIsDropped) {
  watch_from("42");
  EXPECT_TRUE(waits(failed(504, "Too large resource version: 42, current: 3")));
  EXPECT_TRUE(lists_from_the_start(feed(WaitOver{})));
}

TEST_F(WatchMachine, AStreamThatGoesBackInTimeMeansAFullList) {
  watch_from("42");
  EXPECT_EQ(event("BOOKMARK", "42"), WatchAction(ReadEvent{}));
  EXPECT_TRUE(waits(event("BOOKMARK", "9")));
  EXPECT_TRUE(lists_from_the_start(feed(WaitOver{})));
}

TEST_F(WatchMachine, AnyOtherErrorInTheStreamBacksOffAndResumes) {
  watch_from("42");
  EXPECT_TRUE(waits(error_event(500)));
  EXPECT_EQ(watched_version(feed(WaitOver{})), "42");
}

TEST_F(WatchMachine, AnEventWithoutAVersionMeansAFullList) {
  watch_from("42");
  EXPECT_TRUE(waits(event("ADDED", "")));
  EXPECT_TRUE(lists_from_the_start(feed(WaitOver{})));
}

TEST_F(WatchMachine, UnknownEventTypesAreIgnored) {
  watch_from("42");
  EXPECT_EQ(event("FUTURE", "43"), WatchAction(ReadEvent{}));
  EXPECT_TRUE(updates_.empty());
  EXPECT_EQ(feed(EventReceived{Json(7)}), WatchAction(ReadEvent{}));
}

TEST_F(WatchMachine, AWatchThatIsClosedAtOnceBacksOff) {
  watch_from("42");
  EXPECT_TRUE(waits(feed(StreamClosed{})));
  feed(WaitOver{});
  feed(WatchOpened{});
  now_ += 1s;
  EXPECT_EQ(watched_version(feed(StreamClosed{})), "42") << "a quiet watch that lived a second is no failure";
}

TEST_F(WatchMachine, ForbiddenIsTriedForEverAndSaidOnce) {
  feed(Started{});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(waits(failed(403, "pods is forbidden")));
    EXPECT_TRUE(lists_from_the_start(feed(WaitOver{})));
  }
  EXPECT_EQ(warnings_, std::vector<std::string>{"pods is forbidden"});
}

TEST_F(WatchMachine, AFailureThatComesBackAfterAGoodWatchIsSaidAgain) {
  feed(Started{});
  failed(403, "pods is forbidden");
  feed(WaitOver{});
  page("42");
  feed(WatchOpened{});
  failed(403, "pods is forbidden");
  EXPECT_EQ(warnings_.size(), 2U);
}

TEST_F(WatchMachine, WaitsAtLeastAsLongAsTheServerAsksForWithinAMinute) {
  watch_from("42");
  const WatchAction action = feed(CallFailed{{.message = "slow down", .code = 429, .retry_after = 17s}});
  EXPECT_EQ(action, WatchAction(Wait{17s}));
  EXPECT_EQ(feed(CallFailed{{.message = "come back in an hour", .code = 503, .retry_after = 1h}}),
            WatchAction(Wait{60s}));
}

TEST_F(WatchMachine, AsksTheServerToEndAWatchBetweenFiveAndTenMinutes) {
  feed(Started{});
  const WatchAction action = page("42");
  EXPECT_EQ(std::get<OpenWatch>(action).timeout, 450s);  // random = 0.5
}

}  // namespace
}  // namespace caravan::kube
