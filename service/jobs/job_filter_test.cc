// Names of resources, filters, pages and the feed: what requests mean.
#include "service/jobs/job_filter.h"

#include <gmock/gmock.h>

#include "service/jobs/job_page.h"
#include "service/jobs/names.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

kube::Json job(const std::string& name, const std::string& created, const std::string& state,
               const std::string& version = "1") {
  return kube::JsonObject{
      {"metadata", kube::JsonObject{{"name", name},
                                    {"namespace", "team"},
                                    {"uid", "uid-" + name},
                                    {"resourceVersion", version},
                                    {"creationTimestamp", created},
                                    {"labels", kube::JsonObject{{"team", "nlp"}}},
                                    {"annotations", kube::JsonObject{{kCreatedBy, "ada"}}}}},
      {"status", kube::JsonObject{{"state", state}}}};
}

EntryPtr entry(const std::string& name, const std::string& created = "2030-01-01T00:00:00Z",
               const std::string& state = "Running") {
  return std::make_shared<const JobEntry>(
      entry_of(std::make_shared<const kube::CachedObject>(job(name, created, state))));
}

bool matches(const std::string& filter) {
  const auto parsed = JobFilter::parse(filter);
  EXPECT_TRUE(parsed) << filter << ": " << parsed.error().message;
  return parsed && parsed->matches(*entry("llama"));
}

TEST(JobFilter, ComparesNameStateUserAndLabels) {
  EXPECT_TRUE(matches(""));
  EXPECT_TRUE(matches("state=Running"));
  EXPECT_TRUE(matches("state = \"Running\" AND labels.team=nlp AND user:ad"));
  EXPECT_TRUE(matches("name!=other"));
  EXPECT_TRUE(matches("name:lla"));
  EXPECT_FALSE(matches("state!=Running"));
  EXPECT_FALSE(matches("labels.team=nlp AND name=other"));
  EXPECT_FALSE(matches("labels.absent=nlp"));
  EXPECT_TRUE(matches("labels.absent!=nlp"));
}

TEST(JobFilter, SaysWhatIsWrong) {
  for (const char* bad : {"spec=1", "state", "state<Running", "state=\"open", "state=a name=b", "=",
                          "labels.=x", "name=a AND"}) {
    const auto parsed = JobFilter::parse(bad);
    ASSERT_FALSE(parsed) << bad;
    ASSERT_EQ(parsed.error().fields.size(), 1u) << bad;
    EXPECT_EQ(parsed.error().fields[0].subject, "filter") << bad;
  }
}

TEST(ResourceName, OnlyWhatKubernetesTakesForANamePasses) {
  const auto key = job_key_of("namespaces/team/jobs/llama-1.b");
  ASSERT_TRUE(key);
  EXPECT_EQ(*key, (kube::ObjectKey{"team", "llama-1.b"}));
  EXPECT_EQ(name_of(*key), "namespaces/team/jobs/llama-1.b");
  for (const char* bad :
       {"", "team/llama", "namespaces//jobs/a", "namespaces/a/jobs/", "namespaces/a/jobs/..",
        "namespaces/../jobs/a", "namespaces/a/jobs/a/b", "namespaces/a/jobs/a%2fb", "namespaces/-/jobs/a",
        "namespaces/A/jobs/a", "namespaces/a/jobs/a?x=1", "namespaces/a.b/jobs/a"})
    EXPECT_FALSE(job_key_of(bad)) << bad;
  EXPECT_EQ(namespace_or_all_of("namespaces/-").value(), "");
  EXPECT_FALSE(namespace_of("namespaces/-"));
}

std::vector<std::string> names_of(const JobPage& page) {
  std::vector<std::string> names;
  for (const EntryPtr& one : page.jobs) names.emplace_back(one->object->name());
  return names;
}

TEST(JobPage, GoesOnBehindTheLastJobWhateverComesAndGoes) {
  std::vector<EntryPtr> jobs{entry("a", "2030-01-01T00:00:00Z"), entry("b", "2030-01-03T00:00:00Z"),
                             entry("c", "2030-01-02T00:00:00Z"), entry("d", "2030-01-02T00:00:00Z")};
  v1alpha1::ListJobsRequest request;
  request.set_parent("namespaces/team");
  request.set_page_size(2);
  const auto first = page_of(jobs, request);
  ASSERT_TRUE(first);
  EXPECT_THAT(names_of(*first), ElementsAre("b", "d"));
  EXPECT_EQ(first->total, 4u);
  jobs.erase(jobs.begin() + 3);                        // the last one that was told
  jobs.push_back(entry("e", "2030-01-04T00:00:00Z"));  // before all
  request.set_page_token(first->next_page_token);
  const auto second = page_of(jobs, request);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_THAT(names_of(*second), ElementsAre("c", "a"));
  EXPECT_THAT(second->next_page_token, IsEmpty());
  request.set_filter("state=Failed");
  EXPECT_FALSE(page_of(jobs, request)) << "a token belongs to its request";
  request.set_page_token("no token");
  EXPECT_FALSE(page_of(jobs, request));
}

TEST(JobPage, OfLargeJobsHasAsManyAsAClientTakes) {
  const std::string large(1 << 20, 'x');
  std::vector<EntryPtr> jobs;
  for (const char* name : {"a", "b", "c", "d", "e"}) jobs.push_back(entry(name, "", large));
  v1alpha1::ListJobsRequest request;
  request.set_order_by("name");
  std::size_t told = 0;
  for (int pages = 0; pages == 0 || !request.page_token().empty(); ++pages) {
    const auto page = page_of(jobs, request).value();
    ASSERT_FALSE(page.jobs.empty());
    EXPECT_LT(page.jobs.size(), 4u);
    told += page.jobs.size();
    request.set_page_token(page.next_page_token);
  }
  EXPECT_EQ(told, jobs.size());
}

TEST(JobPage, OrdersByNameAndState) {
  const std::vector<EntryPtr> jobs{entry("a", "1", "Running"), entry("b", "2", "Failed")};
  v1alpha1::ListJobsRequest request;
  request.set_order_by("name desc");
  EXPECT_THAT(names_of(page_of(jobs, request).value()), ElementsAre("b", "a"));
  request.set_order_by("state");
  EXPECT_THAT(names_of(page_of(jobs, request).value()), ElementsAre("b", "a"));
  request.set_order_by("size");
  EXPECT_FALSE(page_of(jobs, request));
}

class Listener final : public JobFeed::Listener {
 public:
  void on_change(const ChangePtr& change) override { heard.push_back(change->version); }
  std::vector<std::string> heard;
};

JobFeed::Versions all_reported(const kube::Store& store) {
  return {.seen = store.resource_version(), .reported = store.resource_version()};
}

TEST(JobFeed, WhoWasAwayGoesOnWhereHeWasAsLongAsChangesAreKept) {
  kube::Store store;
  JobFeed feed([&store] { return all_reported(store); });
  const auto change = [&](int version) {
    for (const kube::Change& one : store.upsert(job("a", "", "Running", std::to_string(version))))
      feed.take(one);
  };
  change(8);
  change(9);
  const auto listener = std::make_shared<Listener>();
  const auto opening = feed.open(listener, "team", "");
  ASSERT_TRUE(opening);
  EXPECT_EQ(opening->present.size(), 1u);
  EXPECT_EQ(opening->version, "9");
  EXPECT_EQ(feed.open(std::make_shared<Listener>(), "other", "").value().present.size(), 0u);
  change(10);
  change(11);
  EXPECT_THAT(listener->heard, ElementsAre("10", "11"));
  const auto again = feed.open(std::make_shared<Listener>(), "team", "10");
  ASSERT_TRUE(again);
  std::vector<std::string> missed;
  for (const ChangePtr& one : again->missed) missed.push_back(one->version);
  EXPECT_THAT(missed, ElementsAre("10", "11")) << "one may be told twice, and none is left out";
  for (int version = 12; version < 12 + static_cast<int>(JobFeed::kKeptChanges); ++version) change(version);
  const auto too_old = feed.open(std::make_shared<Listener>(), "team", "10");
  ASSERT_FALSE(too_old);
  EXPECT_EQ(too_old.error().code, Code::kOutOfRange);
  EXPECT_FALSE(feed.open(std::make_shared<Listener>(), "team", "abc"));
}

TEST(JobFeed, AVersionOfWhichSomeChangesAreLostIsTooOld) {
  kube::Store store;
  JobFeed feed([&store] { return all_reported(store); });
  const auto list = [&](std::size_t jobs, const std::string& version) {
    kube::JsonArray items;
    for (std::size_t i = 0; i < jobs; ++i)
      items.push_back(job("j" + std::to_string(i), "", version, version));
    for (const kube::Change& one : store.replace(items, version)) feed.take(one);
  };
  list(1, "8");
  list(JobFeed::kKeptChanges + 1, "9");
  EXPECT_FALSE(feed.open(std::make_shared<Listener>(), "team", "9")) << "the first change of it is gone";
  for (const kube::Change& one : store.upsert(job("j0", "", "Running", "10"))) feed.take(one);
  EXPECT_TRUE(feed.open(std::make_shared<Listener>(), "team", "10"));
}

// Of three jobs two are gone: one replica saw them go, at 8 and 9, and another one listed anew after that.
TEST(JobFeed, WhoHeardAPartOfAListMissesNothingOnAnotherReplica) {
  const auto three = [](const std::string& version) {
    return kube::JsonArray{job("a", "", "", version), job("b", "", "", version), job("c", "", "", version)};
  };
  kube::Store store;
  std::string reported;
  JobFeed listed([&] { return JobFeed::Versions{.seen = store.resource_version(), .reported = reported}; });
  const auto take_all = [&](const std::vector<kube::Change>& changes) {
    for (const kube::Change& change : changes) listed.take(change);
    reported = store.resource_version();
  };
  take_all(store.replace(three("7"), "7"));
  EXPECT_EQ(listed.version(), "7");
  const auto changes = store.replace(kube::JsonArray{job("c", "", "", "7")}, "20");
  ASSERT_EQ(changes.size(), 2u);
  listed.listed("7", "20");
  EXPECT_EQ(listed.version(), "7") << "none of them has been told";
  take_all(changes);
  EXPECT_EQ(listed.version(), "20");
  const auto too_old = listed.open(std::make_shared<Listener>(), "team", "10");
  ASSERT_FALSE(too_old) << "what came and went between the lists is not known here";
  EXPECT_EQ(too_old.error().code, Code::kOutOfRange);
  const auto told = listed.open(std::make_shared<Listener>(), "team", "7")->missed;
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told[told.size() - 2]->token, "7");
  EXPECT_EQ(told.back()->token, "20");

  kube::Store other;
  JobFeed watched([&other] { return all_reported(other); });
  for (const kube::Change& change : other.replace(three("7"), "7")) watched.take(change);
  for (const char* gone : {"a", "b"}) {
    for (const kube::Change& change : other.remove(job(gone, "", "", gone == std::string("a") ? "8" : "9")))
      watched.take(change);
  }
  const auto rest = watched.open(std::make_shared<Listener>(), "team", "7")->missed;
  std::vector<std::string> names;
  for (const ChangePtr& change : rest) {
    if (!change->after) names.emplace_back(change->before->object->name());
  }
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

TEST(JobFeed, LargeJobsTakeNoMoreMemoryThanSmallOnes) {
  kube::Store store;
  JobFeed feed([&store] { return all_reported(store); });
  const std::string large(1 << 20, 'x');
  for (int version = 1; version <= 40; ++version) {
    for (const kube::Change& one : store.upsert(job("a", large, "Running", std::to_string(version))))
      feed.take(one);
  }
  EXPECT_FALSE(feed.open(std::make_shared<Listener>(), "team", "20"));
  EXPECT_TRUE(feed.open(std::make_shared<Listener>(), "team", "39"));
}

TEST(JobFeed, OfAServerThatWasRestoredEverythingBeginsAnew) {
  kube::Store store;
  JobFeed feed([&store] { return all_reported(store); });
  const auto list = [&](const std::string& version) {
    for (const kube::Change& one : store.replace(kube::JsonArray{job("a", "", "Running", version)}, version))
      feed.take(one);
  };
  list("100");
  list("110");
  list("50");
  EXPECT_EQ(feed.version(), "50");
  EXPECT_TRUE(feed.open(std::make_shared<Listener>(), "team", "50"));
  EXPECT_FALSE(feed.open(std::make_shared<Listener>(), "team", "40"));
}

}  // namespace
}  // namespace caravan::service
