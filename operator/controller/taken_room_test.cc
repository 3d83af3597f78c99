#include "operator/controller/taken_room.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "operator/view/pod_view.h"

namespace caravan::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Each of a version of its own.
kube::Json pod(const std::string& name, const std::string& machine, const std::string& gpus,
               const char* phase = "Running", int uid = 0, const std::string& domain = "") {
  static int version = 0;
  return kube::parse_json(
             fmt::format(
                 R"({{"metadata": {{"namespace": "n", "name": "{}", "uid": "{}-{}", "resourceVersion": "{}",
                   "labels": {{"training.caravan.dev/topology-domain": "{}"}}}},
      "spec": {{"nodeName": "{}", "containers": [{{"resources": {{"requests": {{"nvidia.com/gpu": "{}"}}}}}}]}},
      "status": {{"phase": "{}"}}}})",
                 name, name, uid, ++version, domain, machine, gpus, phase),
             "pod")
      .value();
}

// A store of pods, and the room that is kept beside it.
class TakenRoomTest : public ::testing::Test {
 protected:
  void take(const std::vector<kube::Change>& changes) {
    for (const kube::Change& change : changes) room_.change(change);
  }

  kube::Store pods_;
  TakenRoom room_;
};

TEST_F(TakenRoomTest, APodTakesRoomFromWhenItIsBoundUntilItHasEnded) {
  take(pods_.upsert(pod("a", "", "8", "Pending")));
  EXPECT_THAT(room_.by_machine(), IsEmpty());
  take(pods_.upsert(pod("a", "m", "8", "Pending")));
  take(pods_.upsert(pod("b", "m", "4")));
  EXPECT_EQ(room_.by_machine().at("m").at("nvidia.com/gpu"), 12);
  take(pods_.upsert(pod("a", "m", "8", "Failed")));
  EXPECT_EQ(room_.by_machine().at("m").at("nvidia.com/gpu"), 4);
  take(pods_.remove(pod("b", "m", "4")));
  EXPECT_THAT(room_.by_machine(), IsEmpty());
  take(pods_.remove(pod("a", "m", "8", "Failed")));
  EXPECT_THAT(room_.by_machine(), IsEmpty());
}

TEST_F(TakenRoomTest, APodThatWaitsInADomainClaimsRoomThereUntilItIsBoundOrGone) {
  take(pods_.upsert(pod("a", "", "8", "Pending", 0, "r1")));
  take(pods_.upsert(pod("b", "", "4", "Pending", 0, "r1")));
  take(pods_.upsert(pod("c", "", "2", "Pending", 0, "r2")));
  EXPECT_EQ(room_.sums().by_domain.at("r1").at("nvidia.com/gpu"), 12);
  EXPECT_EQ(room_.sums().by_domain.at("r2").at("nvidia.com/gpu"), 2);
  EXPECT_EQ(room_.sums({pods_.get({"n", "a"})}).by_domain.at("r1").at("nvidia.com/gpu"), 4);
  EXPECT_THAT(room_.by_machine(), IsEmpty());
  take(pods_.upsert(pod("a", "m", "8", "Pending", 0, "r1")));
  EXPECT_EQ(room_.sums().by_domain.at("r1").at("nvidia.com/gpu"), 4);
  EXPECT_EQ(room_.by_machine().at("m").at("nvidia.com/gpu"), 8);
  kube::Json deleted = pod("b", "", "4", "Pending", 0, "r1");
  deleted.at("metadata").as_object()["deletionTimestamp"] = "2030-01-01T00:00:00Z";
  take(pods_.upsert(deleted));
  take(pods_.upsert(pod("c", "", "2", "Failed", 0, "r2")));
  kube::Json gated = pod("d", "", "8", "Pending", 0, "r1");
  gated.at("spec").as_object()["schedulingGates"] = kube::JsonArray{kube::JsonObject{{"name", "held"}}};
  take(pods_.upsert(gated));
  EXPECT_THAT(room_.sums().by_domain, IsEmpty());
}

TEST_F(TakenRoomTest, PodsOfOnesOwnCanBeLeftOut) {
  take(pods_.upsert(pod("a", "m", "8")));
  take(pods_.upsert(pod("b", "m", "4")));
  EXPECT_EQ(room_.by_machine({pods_.get({"n", "a"})}).at("m").at("nvidia.com/gpu"), 4);
  take(pods_.upsert(pod("c", "o", "1")));
  EXPECT_THAT(room_.by_machine({pods_.get({"n", "a"}), pods_.get({"n", "b"}), pods_.get({"n", "c"})}),
              ElementsAre(Pair("m", IsEmpty()), Pair("o", IsEmpty())));
}

TEST_F(TakenRoomTest, WhoeverAsksForMoreThanThereIsTakesNothingFromOthersWhenHeGoes) {
  for (const char* name : {"a", "b", "c"}) take(pods_.upsert(pod(name, "m", "9000000000000000000")));
  take(pods_.upsert(pod("d", "m", "8")));
  EXPECT_EQ(room_.by_machine().at("m").at("nvidia.com/gpu"), std::numeric_limits<std::int64_t>::max());
  for (const char* name : {"a", "b", "c"}) take(pods_.remove(pod(name, "m", "9000000000000000000")));
  EXPECT_EQ(room_.by_machine().at("m").at("nvidia.com/gpu"), 8);
}

// What all pods of a store take, read from them anew.
TakenRoom::Sums read_all(const kube::Store& pods, const std::string& but_name) {
  TakenRoom::Sums taken;
  for (const kube::ObjectPtr& object : pods.all()) {
    const kube::Json json = object->parse();
    const PodView view = read_pod(json);
    const bool needs_none = view.bound() ? view.is_over() : !view.alive() || view.domain.empty();
    if (object->name() == but_name || needs_none) continue;
    Demand& sum = view.bound() ? taken.by_machine[view.machine] : taken.by_domain[view.domain];
    for (const auto& [resource, amount] : read_demand(json)) sum[resource] += amount;
  }
  return taken;
}

TEST_F(TakenRoomTest, IsWhatTheStoreHoldsWhateverHappens) {
  std::mt19937 random(20);
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  constexpr const char* kPhases[] = {"Pending", "Running", "Succeeded", "Failed"};
  const auto any_pod = [&] {
    return pod(fmt::format("p{}", draw(12)), draw(4) == 0 ? "" : fmt::format("m{}", draw(3)),
               std::to_string(1 + draw(8)), kPhases[draw(4)], draw(3),
               draw(4) == 0 ? "" : fmt::format("r{}", draw(3)));
  };
  for (int event = 0; event < 300; ++event) {
    const int kind = draw(40);
    if (kind == 0) {
      std::map<std::string, kube::Json> listed;  // by name, which is unique
      for (int i = draw(12); i > 0; --i) {
        kube::Json one = any_pod();
        const std::string name = kube::key_of(one).name;
        listed.emplace(name, std::move(one));
      }
      kube::JsonArray items;
      for (auto& [name, one] : listed) items.push_back(std::move(one));
      take(pods_.replace(items, std::to_string(event)));
    } else if (kind < 10) {
      take(pods_.remove(any_pod()));
    } else {
      take(pods_.upsert(any_pod()));
    }
    EXPECT_EQ(room_.by_machine(), read_all(pods_, "").by_machine);
    EXPECT_EQ(room_.sums().by_domain, read_all(pods_, "").by_domain);
    const std::string mine = fmt::format("p{}", draw(12));
    if (const kube::ObjectPtr own = pods_.get({"n", mine})) {
      TakenRoom::Sums taken = room_.sums({own});
      for (auto* sums : {&taken.by_machine, &taken.by_domain})
        std::erase_if(*sums, [](const auto& each) { return each.second.empty(); });
      EXPECT_EQ(taken.by_machine, read_all(pods_, mine).by_machine);
      EXPECT_EQ(taken.by_domain, read_all(pods_, mine).by_domain);
    }
  }
}

}  // namespace
}  // namespace caravan::controller
