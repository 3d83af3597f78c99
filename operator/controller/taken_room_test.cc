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
               const char* phase = "Running", int uid = 0) {
  static int version = 0;
  return kube::parse_json(
             fmt::format(
                 R"({{"metadata": {{"namespace": "n", "name": "{}", "uid": "{}-{}", "resourceVersion": "{}"}},
      "spec": {{"nodeName": "{}", "containers": [{{"resources": {{"requests": {{"nvidia.com/gpu": "{}"}}}}}}]}},
      "status": {{"phase": "{}"}}}})",
                 name, name, uid, ++version, machine, gpus, phase),
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
std::map<std::string, Demand> read_all(const kube::Store& pods, const std::string& but_name) {
  std::map<std::string, Demand> taken;
  for (const kube::ObjectPtr& object : pods.all()) {
    const kube::Json json = object->parse();
    const PodView view = read_pod(json);
    if (object->name() == but_name || !view.bound() || view.is_over()) continue;
    for (const auto& [resource, amount] : read_demand(json)) taken[view.machine][resource] += amount;
  }
  return taken;
}

TEST_F(TakenRoomTest, IsWhatTheStoreHoldsWhateverHappens) {
  std::mt19937 random(20);
  const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  constexpr const char* kPhases[] = {"Pending", "Running", "Succeeded", "Failed"};
  const auto any_pod = [&] {
    return pod(fmt::format("p{}", draw(12)), draw(4) == 0 ? "" : fmt::format("m{}", draw(3)),
               std::to_string(1 + draw(8)), kPhases[draw(4)], draw(3));
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
    EXPECT_EQ(room_.by_machine(), read_all(pods_, ""));
    const std::string mine = fmt::format("p{}", draw(12));
    if (const kube::ObjectPtr own = pods_.get({"n", mine})) {
      auto taken = room_.by_machine({own});
      std::erase_if(taken, [](const auto& machine) { return machine.second.empty(); });
      EXPECT_EQ(taken, read_all(pods_, mine));
    }
  }
}

}  // namespace
}  // namespace caravan::controller
