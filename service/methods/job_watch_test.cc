// What one reader of WatchJobs is told, and when he is dropped.
#include "service/methods/job_watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kube/watch/store.h"

namespace caravan::service {
namespace {

using ::testing::ElementsAre;
using v1alpha1::WatchJobsResponse;

class JobWatchTest : public ::testing::Test {
 protected:
  // uid: of another job of that name when it is another.
  void change(const std::string& name, const std::string& state, int version, const std::string& uid = "1") {
    for (const kube::Change& one : store_.upsert(job(name, state, version, uid))) jobs_.take(one);
  }
  void remove(const std::string& name, int version) {
    for (const kube::Change& one : store_.remove(job(name, "", version, "1"))) jobs_.take(one);
  }
  std::shared_ptr<JobWatch> watch(const std::string& filter = "", const std::string& resume_token = "") {
    auto made =
        std::make_shared<JobWatch>(jobs_, "team", JobFilter::parse(filter).value(), !resume_token.empty());
    made->begin(jobs_.open(made, "team", resume_token).value());
    return made;
  }

  static kube::Json job(const std::string& name, const std::string& state, int version,
                        const std::string& uid) {
    return kube::JsonObject{{"metadata", kube::JsonObject{{"name", name},
                                                          {"namespace", "team"},
                                                          {"uid", uid},
                                                          {"resourceVersion", std::to_string(version)}}},
                            {"status", kube::JsonObject{{"state", state}}}};
  }

  kube::Store store_;
  JobFeed jobs_{[this] { return JobFeed::Versions{store_.resource_version(), store_.resource_version()}; }};
};

// "Changed a 7"
std::vector<std::string> told(JobWatch& watch) {
  std::vector<std::string> all;
  for (std::string message; watch.next(message);) {
    WatchJobsResponse next;
    EXPECT_TRUE(next.ParseFromString(message));
    const std::string name = next.job().name().substr(next.job().name().rfind('/') + 1);
    all.push_back(WatchJobsResponse::Kind_Name(next.kind()) + " " + name + " " + next.resume_token());
  }
  return all;
}

TEST_F(JobWatchTest, TellsWhatIsThenWhatChangesAsFarAsTheFilterAsks) {
  change("a", "Running", 4);
  change("b", "Failed", 5);
  const auto reader = watch("state=Running");
  EXPECT_THAT(told(*reader), ElementsAre("Changed a ", "Complete  5"));
  change("c", "Running", 6);
  change("b", "Failed", 7);
  EXPECT_THAT(told(*reader), ElementsAre("Changed c 6"));
  change("a", "Complete", 8);
  remove("c", 9);
  EXPECT_THAT(told(*reader), ElementsAre("Gone a 8", "Gone c 9"));
  reader->heartbeat("12");
  EXPECT_THAT(told(*reader), ElementsAre("Heartbeat  12"));
}

// However slow he is, he costs a name for each job, and misses nothing.
TEST_F(JobWatchTest, WhatChangesWhileAReaderDoesNotReadIsToldOnce) {
  const auto reader = watch();
  int version = 1;
  for (int i = 0; i < 10'000; ++i) {
    change("a", std::to_string(i), ++version);
    change("b", std::to_string(i), ++version);
  }
  EXPECT_THAT(told(*reader), ElementsAre("Complete  ", "Changed a 2", "Changed b 3"));
  change("a", "last", ++version);
  EXPECT_THAT(told(*reader), ElementsAre(fmt::format("Changed a {}", version)));
}

TEST_F(JobWatchTest, OfWhatWentBeforeAReaderHeardOfItAtMostTheEndIsTold) {
  change("stays", "Running", 2);
  const auto reader = watch();
  change("short", "Running", 3);
  remove("short", 4);
  remove("stays", 5);
  EXPECT_THAT(told(*reader), ElementsAre("Complete  2", "Gone short 3"));
}

// Another reader is told first, and has this one read what he has not been told of yet.
TEST_F(JobWatchTest, WhatIsToldBeforeItsChangeIsHeardOfEndsForTheReaderToo) {
  change("a", "Running", 2);
  std::shared_ptr<JobWatch> reader;
  std::vector<std::string> all;
  struct First final : JobFeed::Listener {
    explicit First(std::function<void()> action) : then(std::move(action)) {}
    void on_change(const ChangePtr&) override { then(); }
    std::function<void()> then;
  };
  const auto first = std::make_shared<First>([&] {
    if (reader) std::ranges::move(told(*reader), std::back_inserter(all));
  });
  ASSERT_TRUE(jobs_.open(first, "team", "2"));
  reader = watch("state=Running");
  all = told(*reader);
  change("a", "Restarting", 3);
  change("a", "Running", 4);
  change("a", "Complete", 5);
  std::ranges::move(told(*reader), std::back_inserter(all));
  EXPECT_THAT(all, ElementsAre("Changed a ", "Complete  2", "Changed a 3", "Gone a 4", "Gone a 5"));
}

TEST_F(JobWatchTest, AJobThatTookAnothersNameIsToldBehindItsEnd) {
  change("a", "Running", 2);
  const auto reader = watch();
  EXPECT_THAT(told(*reader), ElementsAre("Changed a ", "Complete  2"));
  remove("a", 3);
  change("a", "Running", 4, "2");
  change("a", "Complete", 5, "2");
  EXPECT_THAT(told(*reader), ElementsAre("Gone a 3", "Changed a 3"));
}

TEST_F(JobWatchTest, WhoGoesOnIsToldWhatHeMissed) {
  change("a", "Running", 5);
  change("b", "Running", 6);
  change("c", "Running", 7);
  remove("b", 8);
  const auto reader = watch("", "6");
  EXPECT_THAT(told(*reader), ElementsAre("Gone b 6", "Changed c 7"));
}

// What was told of a name is as new as it can be, and so newer than its token.
TEST_F(JobWatchTest, WhoGoesOnHearsTheEndOfWhatHeHadHeardOfTooEarly) {
  const auto first = watch();
  change("a", "Running", 2);
  change("b", "Running", 3);
  change("a", "Complete", 4);
  EXPECT_THAT(told(*first), ElementsAre("Complete  ", "Changed a 2", "Changed b 3"));
  remove("a", 5);
  EXPECT_THAT(told(*watch("", "3")), ElementsAre("Changed b 3", "Gone a 4"));
}

}  // namespace
}  // namespace caravan::service
