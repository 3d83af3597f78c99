// Which lanes a pair of stages needs so that no order of a schedule hangs, played for every schedule: streams
// that compute and lanes that carry, as a device has them.
#include "worker/trainer/comm/nccl/ways.h"

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

// Schedules that hang, by name and number of stages.
std::vector<std::string> hanging(Lanes lanes) {
  std::vector<std::string> names;
  for (const Case& each : cases()) {
    if (!ends(schedule_of(each), planner::messages_under_way(each.kind), lanes))
      names.push_back(std::string(planner::schedule_name(each.kind)) + " " + std::to_string(each.stages));
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

// Each rank makes its contacts in order, and is held up by the first that the other has not come to.
int rounds_of_first_contacts(int size) {
  std::vector<std::deque<int>> open;
  std::set<std::pair<int, int>> made;
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<int> contacts = neighbours_of(rank, size);
    EXPECT_LE(contacts.size(), 2U);
    open.emplace_back(contacts.begin(), contacts.end());
  }
  int rounds = 0;
  for (bool moved = true; moved; ++rounds) {
    moved = false;
    std::vector<std::pair<int, int>> met;
    for (int rank = 0; rank < size; ++rank) {
      if (open[rank].empty()) continue;
      const int peer = open[rank].front();
      if (rank < peer && !open[peer].empty() && open[peer].front() == rank) met.emplace_back(rank, peer);
    }
    for (const auto& [a, b] : met) {
      open[a].pop_front();
      open[b].pop_front();
      made.insert({a, b});
      moved = true;
    }
  }
  for (int rank = 0; rank < size; ++rank) {
    EXPECT_TRUE(open[rank].empty()) << "rank " << rank << " of " << size << " waits for ever";
    const int next = (rank + 1) % size;
    EXPECT_TRUE(size == 1 || made.contains({std::min(rank, next), std::max(rank, next)}))
        << rank << " of " << size;
  }
  return rounds - 1;
}

TEST(FirstContacts, AreMadeByAllNeighboursInAFewRoundsWhateverTheSize) {
  for (int size = 1; size <= 40; ++size) EXPECT_LE(rounds_of_first_contacts(size), 4) << size;
}

}  // namespace
}  // namespace caravan::trainer
