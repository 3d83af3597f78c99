// What one reader of WatchJobs is told, and when he is dropped.
#include "service/methods/job_watch.h"

#include <gmock/gmock.h>

namespace caravan::service {
namespace {

using ::testing::ElementsAre;
using v1alpha1::WatchJobsResponse;

EntryPtr job_entry(const std::string& name, const std::string& state) {
  const kube::Json job =
      kube::JsonObject{{"metadata", kube::JsonObject{{"name", name}, {"namespace", "team"}, {"uid", name}}},
                       {"status", kube::JsonObject{{"state", state}}}};
  return std::make_shared<const JobEntry>(entry_of(std::make_shared<const kube::CachedObject>(job)));
}

ChangePtr change(const EntryPtr& before, const EntryPtr& after, int version) {
  return std::make_shared<const JobChange>(
      JobChange{before, after, std::to_string(version), std::to_string(version)});
}

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

TEST(JobWatch, TellsWhatIsThenWhatChangesAsFarAsTheFilterAsks) {
  JobWatch watch("team", JobFilter::parse("state=Running").value(), false);
  watch.begin({.present = {job_entry("a", "Running"), job_entry("b", "Failed")}, .version = "5"});
  watch.on_change(change(nullptr, job_entry("c", "Running"), 6));
  watch.on_change(change(job_entry("b", "Failed"), job_entry("b", "Failed"), 7));
  watch.on_change(change(job_entry("a", "Running"), job_entry("a", "Complete"), 8));
  watch.on_change(change(job_entry("c", "Running"), nullptr, 9));
  EXPECT_THAT(told(watch), ElementsAre("Changed a ", "Complete  5", "Changed c 6", "Gone a 8", "Gone c 9"));
  watch.heartbeat("12");
  EXPECT_THAT(told(watch), ElementsAre("Heartbeat  12"));
}

TEST(JobWatch, WhoGoesOnIsToldWhatHeMissedBeforeWhatIsNew) {
  JobWatch watch("", JobFilter::parse("").value(), true);
  const EntryPtr job = job_entry("a", "Running");
  watch.on_change(change(job, job, 8));
  watch.begin({.missed = {change(job, job, 6), change(job, job, 7)}, .version = "7"});
  EXPECT_THAT(told(watch), ElementsAre("Changed a 6", "Changed a 7", "Changed a 8"));
}

TEST(JobWatch, AReaderWhoDoesNotReadIsDropped) {
  JobWatch watch("", JobFilter::parse("").value(), false);
  int lost = 0;
  watch.on_news([] {}, [&lost] { ++lost; });
  watch.begin({.version = "1"});
  const EntryPtr job = job_entry("a", "Running");
  for (std::size_t i = 0; i < JobWatch::kMostBehind; ++i) watch.on_change(change(job, job, 2));
  EXPECT_EQ(lost, 0);
  watch.on_change(change(job, job, 3));
  EXPECT_EQ(lost, 1);
  for (int i = 0; i < 1000; ++i) watch.on_change(change(job, job, 4));
  EXPECT_EQ(lost, 1) << "once, and nothing more is kept for him";
}

}  // namespace
}  // namespace caravan::service
