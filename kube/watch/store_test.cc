#include "kube/watch/store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/watch/own_writes.h"

namespace caravan::kube {
namespace {

using namespace std::chrono_literals;

Json pod(std::string_view name, std::string_view uid, std::string_view version,
         std::string_view owner = "job") {
  return JsonObject{{"metadata", JsonObject{{"namespace", "s"},
                                            {"name", name},
                                            {"uid", uid},
                                            {"resourceVersion", version},
                                            {"ownerReferences",
                                             JsonArray{JsonObject{{"uid", owner}, {"controller", true}}}}}}};
}

// "+a" new, "~a" changed, "-a" gone, by UID.
std::vector<std::string> story(const std::vector<Change>& changes) {
  std::vector<std::string> words;
  for (const Change& change : changes) {
    const char* kind = change.before == nullptr ? "+" : change.after == nullptr ? "-" : "~";
    words.push_back(
        fmt::format("{}{}", kind, change.after == nullptr ? change.before->uid() : change.after->uid()));
  }
  return words;
}

using Story = std::vector<std::string>;

TEST(Store, ADeletionThatNobodySawHappensAtTheNextList) {
  Store store;
  store.replace({pod("a", "1", "1"), pod("b", "2", "2")}, "5");
  EXPECT_EQ(story(store.replace({pod("b", "2", "2")}, "9")), Story{"-1"});
  EXPECT_EQ(store.get({"s", "a"}), nullptr);
  EXPECT_EQ(store.resource_version(), "9");
}

TEST(Store, AnObjectOfTheSameNameAndAnotherUidIsGoneAndThenNew) {
  Store store;
  store.replace({pod("a", "1", "1", "job-1")}, "5");
  EXPECT_EQ(story(store.replace({pod("a", "2", "7", "job-2")}, "9")), (Story{"-1", "+2"}));
  EXPECT_EQ(story(store.upsert(pod("a", "3", "10", "job-3"))), (Story{"-2", "+3"}));
  EXPECT_TRUE(store.owned_by("s", "job-1").empty());
  EXPECT_TRUE(store.owned_by("s", "job-2").empty());
  EXPECT_EQ(store.owned_by("s", "job-3").size(), 1U);
}

TEST(Store, AListThatChangesNothingReportsNothing) {
  Store store;
  store.replace({pod("a", "1", "1")}, "5");
  EXPECT_EQ(story(store.replace({pod("a", "1", "1")}, "9")), Story{});
}

TEST(Store, IndexesByControllerWhateverHappens) {
  Store store;
  store.replace({pod("a", "1", "1"), pod("b", "2", "2"), pod("c", "3", "3", "other")}, "5");
  EXPECT_EQ(store.owned_by("s", "job").size(), 2U);
  EXPECT_EQ(story(store.upsert(pod("b", "2", "6", "other"))), Story{"~2"});
  EXPECT_EQ(store.owned_by("s", "job").size(), 1U);
  EXPECT_EQ(store.owned_by("s", "other").size(), 2U);
  EXPECT_EQ(story(store.remove(pod("a", "1", "7"))), Story{"-1"});
  EXPECT_TRUE(store.owned_by("s", "job").empty());
}

TEST(Store, AControllerOwnsWhatStandsInItsNamespaceOnly) {
  Store store;
  Json foreign = pod("a", "1", "1");
  foreign.at("metadata").as_object()["namespace"] = "evil";
  store.replace({foreign, pod("a", "2", "2"), pod("b", "3", "3", "jo"), pod("c", "4", "4", "job2")}, "5");
  const std::vector<ObjectPtr> owned = store.owned_by("s", "job");
  ASSERT_EQ(owned.size(), 1U);
  EXPECT_EQ(owned.front()->uid(), "2");
  EXPECT_EQ(store.owned_by("evil", "job").size(), 1U);
}

TEST(Store, WhatDidNotChangeIsNotHeldTwiceDuringAList) {
  Store store;
  store.replace({pod("a", "1", "1"), pod("b", "2", "2")}, "5");
  const ObjectPtr a = store.get({"s", "a"});
  const ObjectPtr b = store.get({"s", "b"});
  store.set_aside(pod("a", "1", "1"));
  store.set_aside(pod("b", "2", "7"));
  EXPECT_EQ(store.get({"s", "b"}), b) << "half a list takes no effect";
  EXPECT_EQ(story(store.replace("9")), Story{"~2"});
  EXPECT_EQ(store.get({"s", "a"}), a);
}

TEST(Store, AListThatIsGivenUpLeavesNothingBehind) {
  Store store;
  store.set_aside(pod("a", "1", "1"));
  store.drop_set_aside();
  EXPECT_EQ(story(store.replace("9")), Story{});
}

TEST(CachedObject, IsTheObjectThatItWasMadeOf) {
  const Json object = pod("a", "1", "7");
  const CachedObject cached(object);
  EXPECT_EQ(cached.parse(), object);
  EXPECT_EQ(cached.key(), key_of(object));
  EXPECT_EQ(cached.uid(), "1");
  EXPECT_EQ(cached.version(), "7");
  EXPECT_EQ(cached.controller_uid(), "job");
  EXPECT_FALSE(cached.is_being_deleted());
  EXPECT_EQ(CachedObject(JsonObject{}).key(), ObjectKey{});
}

TEST(Store, WhatAReaderHoldsDoesNotChange) {
  Store store;
  store.upsert(pod("a", "1", "1"));
  const ObjectPtr held = store.get({"s", "a"});
  store.upsert(pod("a", "1", "2"));
  EXPECT_EQ(held->version(), "1");
}

class OwnWritesTest : public ::testing::Test {
 protected:
  bool seen() {
    return writes_.seen("job",
                        {.resource_version = [this](const std::string&) { return cache_version_; },
                         .holds = [this](const std::string& uid) { return uid == cached_uid_; }},
                        now_);
  }

  OwnWrites writes_;
  std::string cache_version_ = "10";
  std::string cached_uid_;
  Clock::TimePoint now_{1h};
};

TEST_F(OwnWritesTest, AnOwnerWaitsUntilTheCacheHasReachedItsLatestWrite) {
  writes_.wrote("job", "pods", "9", now_);
  writes_.wrote("job", "pods", "101", now_);
  writes_.wrote("job", "pods", "11", now_);
  EXPECT_FALSE(seen());
  cache_version_ = "100";
  EXPECT_FALSE(seen());
  cache_version_ = "101";
  EXPECT_TRUE(seen());
}

TEST_F(OwnWritesTest, OtherOwnersDoNotWait) {
  writes_.wrote("another job", "pods", "101", now_);
  EXPECT_TRUE(seen());
}

TEST_F(OwnWritesTest, ADeletionIsSeenWhenTheUidIsGoneAndGivenUpInTheEnd) {
  cached_uid_ = "pod";
  writes_.deleted("job", "pod", now_);
  EXPECT_FALSE(seen());
  cached_uid_ = "";
  EXPECT_TRUE(seen());

  cached_uid_ = "pod";
  writes_.deleted("job", "pod", now_);
  now_ += OwnWrites::kGivenUp;
  EXPECT_TRUE(seen());
}

TEST_F(OwnWritesTest, AWriteThatARestoredServerNeverHadIsGivenUpInTheEnd) {
  writes_.wrote("job", "pods", "1000", now_);
  now_ += OwnWrites::kGivenUp - 1s;
  EXPECT_FALSE(seen());
  now_ += 1s;
  EXPECT_TRUE(seen());
}

TEST_F(OwnWritesTest, AnOwnerThatIsGoneIsForgotten) {
  writes_.wrote("job", "pods", "101", now_);
  writes_.forget("job");
  EXPECT_TRUE(seen());
}

}  // namespace
}  // namespace caravan::kube
