// The operator's caches of a real API server.
#include "operator/caches.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>

#include "common/testing/await.h"
#include "operator/testing/jobs.h"
#include "tests/crd/job_server.h"

namespace caravan::controller::testing {
namespace {

using namespace std::chrono_literals;

using test::kPatience;

class WatchedCachesTest : public ::testing::Test {
 protected:
  kube::Json create_job(const std::string& name = "train") {
    kube::Json job = job_object();
    job.as_object()["metadata"] = kube::JsonObject{{"name", name}};
    auto created = server_.client().create({}, server_.jobs(), job);
    if (!created) ADD_FAILURE() << created.error().message;
    return created.value_or(kube::Json());
  }
  void delete_job(const std::string& uid) {
    EXPECT_TRUE(server_.client().remove({}, server_.jobs(), "train", {.uid = uid}));
  }
  void fill_caches() {
    caches_.start();
    ASSERT_TRUE(caches_.wait_until_synced({.deadline = clock_.now() + kPatience}));
  }
  void set_planned(const std::string& name, const char* planned, const kube::JsonObject& plan = {}) {
    const kube::JsonObject condition{{"type", conditions::kPlanned},
                                     {"status", planned},
                                     {"reason", "Test"},
                                     {"message", ""},
                                     {"lastTransitionTime", "2030-01-01T00:00:00Z"}};
    const kube::JsonObject status{{"conditions", kube::JsonArray{condition}}, {"plan", plan}};
    const auto merged = server_.merge(fmt::format("/{}/status", name), kube::JsonObject{{"status", status}});
    ASSERT_TRUE(merged.is_success()) << merged.message();
  }
  bool is_enqueued(int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return enqueued_ >= times; });
  }
  std::string forgotten() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [this] { return !forgotten_.empty(); });
    return forgotten_;
  }

  SystemClock clock_;
  kube::Observer observer_;
  kube::testing::JobServer server_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int enqueued_ = 0;
  std::string forgotten_;
  WatchedCaches caches_{server_.client(),
                        clock_,
                        observer_,
                        {.name_space = server_.name_space(), .read_nodes = false},
                        [this](const kube::ObjectKey&) {
                          const std::scoped_lock lock(mutex_);
                          ++enqueued_;
                          changed_.notify_all();
                        },
                        [this](const std::string& uid) {
                          const std::scoped_lock lock(mutex_);
                          forgotten_ = uid;
                          changed_.notify_all();
                        }};
};

TEST_F(WatchedCachesTest, ForgetAJobThatIsDeletedBeforeAnybodyLooksAtIt) {
  const std::string uid = kube::uid_of(create_job());
  fill_caches();
  EXPECT_TRUE(caches_.facts_of({server_.name_space(), "train"}, uid).has_value());
  delete_job(uid);
  EXPECT_EQ(forgotten(), uid);
  EXPECT_FALSE(caches_.facts_of({server_.name_space(), "train"}, uid).has_value());
}

TEST_F(WatchedCachesTest, HaveARefusedJobLookedAtWhenItsDamagedPlanIsTakenOut) {
  create_job();
  set_planned("train", "False", {{"tensor", 1}, {"document", "damaged"}});
  fill_caches();
  ASSERT_TRUE(is_enqueued(1)) << "it is new";
  set_planned("train", "False", {{"document", nullptr}});
  EXPECT_TRUE(is_enqueued(2));
}

TEST_F(WatchedCachesTest, KnowTheJobsThatHaveNoPlan) {
  create_job("new");
  for (const auto& [name, planned] : {std::pair{"refused", "False"}, std::pair{"train", "True"}}) {
    create_job(name);
    set_planned(name, planned);
  }
  fill_caches();
  EXPECT_THAT(caches_.unplanned_job_keys(),
              ::testing::ElementsAre(kube::ObjectKey{server_.name_space(), "new"},
                                     kube::ObjectKey{server_.name_space(), "refused"}));
  EXPECT_EQ(caches_.job_keys().size(), 3U);
}

// Twelve of them are longer than a page may be.
TEST_F(WatchedCachesTest, LeaveOutWhatMerelyCarriesOurLabel) {
  const std::string uid = kube::uid_of(create_job());
  const auto labelled = [&](const char* kind, const std::string& name, const std::string& api_version) {
    const kube::JsonObject owner{{"apiVersion", api_version},
                                 {"kind", "LlamaTrainingJob"},
                                 {"name", "train"},
                                 {"uid", uid},
                                 {"controller", true}};
    const kube::JsonObject metadata{
        {"name", name},
        {"labels", kube::JsonObject{{labels::kManagedBy, kManager}, {labels::kJobUid, uid}}},
        {"ownerReferences", kube::JsonArray{owner}}};
    return kube::JsonObject{{"apiVersion", "v1"}, {"kind", kind}, {"metadata", metadata}};
  };
  const auto create = [&](const kube::Resource& resource, kube::JsonObject object) {
    const auto created =
        server_.client().create({}, {.resource = resource, .name_space = server_.name_space()}, object);
    ASSERT_TRUE(created) << created.error().message;
  };
  const auto create_foreign = [&](int number) {
    kube::JsonObject foreign = labelled("ConfigMap", fmt::format("foreign-{}", number), "apps/v1");
    foreign["data"] = kube::JsonObject{{"junk", std::string(1'000'000, 'x')}};
    create(kConfigMaps, foreign);
  };
  for (int number = 0; number < 12; ++number) create_foreign(number);
  create(kConfigMaps, labelled("ConfigMap", "train-plan", kApiVersion));
  create(kServiceAccounts, labelled("ServiceAccount", "foreign", "apps/v1"));
  create(kServiceAccounts, labelled("ServiceAccount", "train", kApiVersion));
  fill_caches();
  create_foreign(12);
  create(kServiceAccounts, labelled("ServiceAccount", "late", kApiVersion));
  caches_.renew();
  ASSERT_TRUE(caches_.wait_until_synced({.deadline = clock_.now() + kPatience}));
  const Caches caches = caches_.stores();
  ASSERT_EQ(caches.config_maps.size(), 1U);
  EXPECT_EQ(caches.config_maps.all().front()->name(), "train-plan");
  EXPECT_EQ(caches.accounts.size(), 2U);
  for (const kube::ObjectPtr& kept : caches.accounts.all()) EXPECT_EQ(kept->controller_uid(), uid);
}

TEST_F(WatchedCachesTest, TellWhatTheyHaveSeenAndWhen) {
  const auto before = clock_.now();
  EXPECT_THAT(caches_.states(), ::testing::IsEmpty()) << "nothing is seen yet";
  fill_caches();
  const std::vector<CacheState> states = caches_.states();
  ASSERT_EQ(states.size(), 6U);
  EXPECT_EQ(states.front().plural, kJobs.plural);
  for (const CacheState& state : states) {
    EXPECT_FALSE(state.resource_version.empty()) << state.plural;
    EXPECT_LE(state.age, clock_.now() - before) << state.plural;
  }
}

}  // namespace
}  // namespace caravan::controller::testing
