// Which lanes a pair of stages needs so that no order of a schedule hangs, played for every schedule: streams
// that compute and lanes that carry, as a device has them.
#include "worker/trainer/comm/nccl/ways.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/testing/turn.h"
#include "planner/schedule/generate.h"
#include "planner/schedule/transfers.h"
#include "worker/trainer/comm/nccl/used_ways.h"

namespace caravan::trainer {
namespace {

using planner::Action;
using planner::ActionType;
using planner::Direction;
using planner::Schedule;
using planner::ScheduleKind;

// A message as both sides know it.
struct Message {
  int from = 0;
  int to = 0;
  Direction direction = Direction::Activations;
  int tag = 0;
  auto operator<=>(const Message&) const = default;

  Way way() const { return way_of(2 * tag + (direction == Direction::Gradients ? 1 : 0), from, to); }
};

// Of one stage: its stream waits for messages and computes, its lanes carry them. What a lane is given begins
// when the stream has come to where that was.
struct Given {
  Message message;
  std::size_t after = 0;  // entries of the stream
  int tick = 0;           // between two computations
};
struct Stage {
  std::vector<std::optional<Message>> stream;  // what it waits for, or a computation
  std::map<std::string, std::deque<Given>> lanes;
  std::size_t done = 0;
};

enum class Lanes { OneWay, OfAPair, OfAPairAndKind, OneExchangeATick };

std::string lane_name(Lanes lanes, const Message& message) {
  const std::string pair = std::to_string(std::min(message.from, message.to)) + "-" +
                           std::to_string(std::max(message.from, message.to));
  switch (lanes) {
    case Lanes::OneWay:
      return pair + "/" + std::to_string(static_cast<int>(message.way()));
    case Lanes::OfAPair:
      return pair;
    case Lanes::OfAPairAndKind:
      return pair + "/" + std::to_string(static_cast<int>(message.direction));
    case Lanes::OneExchangeATick:
      return "all";
  }
  return "";
}

Stage play_host(const std::vector<Action>& actions, int number, Lanes lanes) {
  Stage stage;
  std::map<std::pair<Direction, int>, std::deque<Message>> sent;
  std::map<std::pair<Direction, int>, Message> asked;
  int tick = 0;
  const auto give = [&](const Message& message) {
    stage.lanes[lane_name(lanes, message)].push_back({message, stage.stream.size(), tick});
  };
  for (const Action& action : actions) {
    switch (action.type) {
      case ActionType::PostReceive: {
        const Message message{action.peer, number, action.direction, action.tag};
        asked[{action.direction, action.tag}] = message;
        give(message);
        break;
      }
      case ActionType::StartSend: {
        const Message message{number, action.peer, action.direction, action.tag};
        sent[{action.direction, action.peer}].push_back(message);
        give(message);
        break;
      }
      case ActionType::AwaitReceive:
        stage.stream.emplace_back(asked.at({action.direction, action.tag}));
        break;
      case ActionType::FinishSend:
        stage.stream.emplace_back(sent.at({action.direction, action.peer}).front());
        sent.at({action.direction, action.peer}).pop_front();
        break;
      case ActionType::Compute:
        stage.stream.emplace_back(std::nullopt);
        ++tick;
        break;
      case ActionType::Take:
      case ActionType::HandOver:
        break;
    }
  }
  return stage;
}

// The streams of a device and its lanes, side by side.
class Play {
 public:
  Play(const Schedule& schedule, int under_way, Lanes lanes) : lanes_(lanes) {
    for (int stage = 0; stage < schedule.stages; ++stage)
      stages_.push_back(play_host(planner::add_transfers(schedule, stage, under_way), stage, lanes));
  }

  // Until nothing moves; whether all is done.
  bool ends() {
    while (compute() || carry()) {
    }
    return std::ranges::all_of(stages_, [](const Stage& stage) { return stage.done == stage.stream.size(); });
  }

 private:
  // All of one exchange begin together, and the next when all of them are done.
  bool has_begun(int rank, const Message& message) {
    const auto& lane = stages_[rank].lanes[lane_name(lanes_, message)];
    for (const Given& given : lane) {
      const bool begins =
          lanes_ == Lanes::OneExchangeATick ? given.tick == lane.front().tick : &given == &lane.front();
      if (!begins || given.after > stages_[rank].done) return false;
      if (given.message == message) return true;
    }
    return false;
  }

  bool compute() {
    bool moved = false;
    for (Stage& stage : stages_) {
      while (stage.done < stage.stream.size()) {
        const auto& waits_for = stage.stream[stage.done];
        if (waits_for && !carried_.contains(*waits_for)) break;
        ++stage.done;
        moved = true;
      }
    }
    return moved;
  }

  bool carry() {
    std::set<Message> met;
    for (const Stage& stage : stages_) {
      for (const auto& [name, lane] : stage.lanes) {
        for (const Given& given : lane) {
          const Message& message = given.message;
          if (has_begun(message.from, message) && has_begun(message.to, message)) met.insert(message);
        }
      }
    }
    for (Stage& stage : stages_) {
      for (auto& [name, lane] : stage.lanes)
        std::erase_if(lane, [&](const Given& given) { return met.contains(given.message); });
    }
    const bool moved = !met.empty();
    carried_.merge(met);
    return moved;
  }

  const Lanes lanes_;
  std::vector<Stage> stages_;
  std::set<Message> carried_;
};

bool ends(const Schedule& schedule, int under_way, Lanes lanes) {
  return Play(schedule, under_way, lanes).ends();
}

struct Case {
  ScheduleKind kind;
  int stages;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ScheduleKind kind : planner::all_schedule_kinds()) {
    if (!planner::may_be_asked_for(kind)) continue;
    for (const int stages : {2, 3, 4, 8}) all.push_back({kind, stages});
  }
  return all;
}

Schedule schedule_of(const Case& each) {
  return planner::generate_schedule(planner::smallest_spec(each.kind, each.stages, 3 * each.stages));
}

std::string name_of(const Case& each) {
  return fmt::format("{} {}", planner::schedule_name(each.kind), each.stages);
}

// Schedules that hang.
std::vector<std::string> hanging(Lanes lanes) {
  std::vector<std::string> names;
  for (const Case& each : cases()) {
    if (!ends(schedule_of(each), planner::messages_under_way(each.kind), lanes))
      names.push_back(name_of(each));
  }
  return names;
}

TEST(Ways, NoScheduleHangsWhereEachKindAndDirectionHasALane) {
  CARAVAN_BY_TURNS();
  EXPECT_THAT(hanging(Lanes::OneWay), testing::IsEmpty());
}

TEST(Ways, SchedulesHangWhereAPairHasOneLane) {
  EXPECT_THAT(hanging(Lanes::OfAPair), testing::IsSupersetOf({"1F1B 4", "ZBH1 4", "VZB 4", "Seq1F1B 4"}));
}

TEST(Ways, SchedulesHangWhereTheTwoKindsHaveALaneForBothDirections) {
  CARAVAN_BY_TURNS();
  EXPECT_THAT(hanging(Lanes::OfAPairAndKind),
              testing::IsSupersetOf({"Interleaved 2", "VMin 4", "VHalf 4", "VZB 4"}));
}

TEST(Ways, SchedulesHangWhereAllOfATickIsOneExchange) {
  EXPECT_THAT(hanging(Lanes::OneExchangeATick),
              testing::IsSupersetOf({"1F1B 4", "Interleaved 4", "VZB 4", "Seq1F1B 4"}));
}

TEST(Ways, AreToldApartByKindAndDirection) {
  EXPECT_EQ(way_of(4, 0, 1), Way::ActivationsUp);
  EXPECT_EQ(way_of(4, 1, 0), Way::ActivationsDown);
  EXPECT_EQ(way_of(5, 0, 1), Way::GradientsUp);
  EXPECT_EQ(way_of(5, 1, 0), Way::GradientsDown);
}

// By stage.
using Ways = std::vector<std::vector<NeighbourWay>>;

Ways ways_of(const Schedule& schedule) {
  Ways ways;
  for (int stage = 0; stage < schedule.stages; ++stage) ways.push_back(used_ways(schedule, stage));
  return ways;
}

void expect_ways_for(const Schedule& schedule, int stage, const std::vector<NeighbourWay>& formed) {
  for (const Action& action : planner::add_transfers(schedule, stage, /*messages_under_way=*/1)) {
    const bool sends = action.type == ActionType::StartSend;
    if (!sends && action.type != ActionType::PostReceive) continue;
    const Message message{sends ? stage : action.peer, sends ? action.peer : stage, action.direction,
                          action.tag};
    EXPECT_THAT(formed, testing::Contains(NeighbourWay{action.peer, message.way()}));
  }
}

TEST(UsedWays, AreOnBothSidesWhatTheMessagesOfTrainingAndEvaluationTake) {
  CARAVAN_BY_TURNS();
  for (const Case& each : cases()) {
    SCOPED_TRACE(name_of(each));
    const Schedule schedule = schedule_of(each);
    const Ways ways = ways_of(schedule);
    for (int stage = 0; stage < each.stages; ++stage) {
      expect_ways_for(schedule, stage, ways[stage]);
      expect_ways_for(planner::forwards_of(schedule), stage, ways[stage]);
      for (const auto& [peer, way] : ways[stage])
        EXPECT_THAT(ways[peer], testing::Contains(NeighbourWay{stage, way})) << "stage " << stage;
    }
  }
}

std::map<int, std::set<Way>> ways_by_peer(const std::vector<NeighbourWay>& ways) {
  std::map<int, std::set<Way>> by_peer;
  for (const auto& [peer, way] : ways) by_peer[peer].insert(way);
  return by_peer;
}

TEST(UsedWays, AreThoseOfTheChunksThatFollowEachOther) {
  const std::set<Way> there{Way::ActivationsUp, Way::GradientsDown};
  const std::set<Way> back{Way::ActivationsDown, Way::GradientsUp};
  const std::set<Way> all{Way::ActivationsUp, Way::ActivationsDown, Way::GradientsUp, Way::GradientsDown};
  for (const Case& each : cases()) {
    const bool turns = planner::stands_as_a_v(each.kind);
    const bool goes_around = each.kind == ScheduleKind::Interleaved;
    const Ways ways = ways_of(schedule_of(each));
    for (int stage = 0; stage < each.stages; ++stage) {
      std::map<int, std::set<Way>> expected;
      if (stage > 0) expected[stage - 1] = turns ? all : there;
      if (stage + 1 < each.stages) expected[stage + 1] = turns ? all : there;
      if (goes_around && stage == 0) expected[each.stages - 1].insert(back.begin(), back.end());
      if (goes_around && stage == each.stages - 1) expected[0].insert(back.begin(), back.end());
      EXPECT_EQ(ways_by_peer(ways[stage]), expected) << name_of(each) << ", stage " << stage;
    }
  }
}

// Each rank makes its contacts in order, and is held up by the first that the other has not come to.
int rounds_of_first_contacts(const Ways& contacts) {
  std::vector<std::deque<NeighbourWay>> open;
  for (const auto& each : contacts) open.emplace_back(each.begin(), each.end());
  const int size = static_cast<int>(open.size());
  int rounds = 0;
  for (bool moved = true; moved; ++rounds) {
    moved = false;
    std::vector<std::pair<int, int>> met;
    for (int rank = 0; rank < size; ++rank) {
      if (open[rank].empty()) continue;
      const auto [peer, way] = open[rank].front();
      const bool has_come = !open[peer].empty() && open[peer].front() == NeighbourWay{rank, way};
      if (rank < peer && has_come) met.emplace_back(rank, peer);
    }
    for (const auto& [a, b] : met) {
      open[a].pop_front();
      open[b].pop_front();
      moved = true;
    }
  }
  for (int rank = 0; rank < size; ++rank)
    EXPECT_TRUE(open[rank].empty()) << "rank " << rank << " of " << size << " waits for ever";
  return rounds - 1;
}

TEST(FirstContacts, AreMadeByAllNeighboursInAFewRoundsWhateverTheSize) {
  for (int size = 1; size <= 40; ++size) {
    Ways contacts;
    for (int rank = 0; rank < size; ++rank) {
      const std::vector<int> neighbours = neighbours_of(rank, size);
      EXPECT_LE(neighbours.size(), 2U);
      const int next = (rank + 1) % size;
      EXPECT_TRUE(size == 1 || std::ranges::count(neighbours, next) == 1) << rank << " of " << size;
      auto& own = contacts.emplace_back();
      for (const int peer : neighbours) own.push_back({peer, Way::ActivationsUp});
    }
    EXPECT_LE(rounds_of_first_contacts(contacts), 4) << size;
  }
}

TEST(FirstContacts, OfTheWaysOfEveryScheduleAreMade) {
  for (const Case& each : cases())
    EXPECT_LE(rounds_of_first_contacts(ways_of(schedule_of(each))), 4 * kWays) << name_of(each);
}

}  // namespace
}  // namespace caravan::trainer
