// Validator, simulator and automatic generator against programs that try everything, written without them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "common/testing/sample.h"
#include "common/testing/turn.h"
#include "planner/schedule/generate.h"
#include "planner/schedule/simulate.h"
#include "planner/schedule/validate.h"

namespace caravan::planner {
namespace {

using Dice = std::mt19937;

int upto(Dice& dice, int most) {
  return static_cast<int>(dice() % static_cast<unsigned>(most + 1));
}

// An op anywhere in the pipeline. Letters: F, B of the input, W of the weights; a backward of both is B and
// W.
using Node = std::tuple<char, int, int, int>;  // letter, group, micro-batch, segment

std::vector<Node> done_by(const Schedule& schedule, int stage, const Op& op) {
  const int group = schedule.map().group_of(stage, op.chunk);
  const auto node = [&](char letter) { return Node{letter, group, op.micro_batch, op.segment}; };
  switch (op.type) {
    case OpType::Forward:
      return {node('F')};
    case OpType::BackwardInput:
      return {node('B')};
    case OpType::BackwardWeight:
      return {node('W')};
    case OpType::Backward:
      return {node('B'), node('W')};
  }
  return {};
}

std::vector<Node> needs_of(const Schedule& schedule, const Node& node) {
  const auto [letter, group, micro_batch, segment] = node;
  const int last_group = schedule.map().groups() - 1;
  std::vector<Node> needs;
  if (letter == 'W') return {{'B', group, micro_batch, segment}};
  if (letter == 'F') {
    if (group > 0) needs.emplace_back('F', group - 1, micro_batch, segment);
    if (segment > 0) needs.emplace_back('F', group, micro_batch, segment - 1);
    return needs;
  }
  needs.emplace_back('F', group, micro_batch, segment);
  if (group < last_group) needs.emplace_back('B', group + 1, micro_batch, segment);
  if (segment + 1 < schedule.segments) needs.emplace_back('B', group, micro_batch, segment + 1);
  return needs;
}

// Runs the stages in every order that there is. A stage sends what it made into a channel of so many places,
// which keeps the order, before it goes on.
class EveryOrder {
 public:
  EveryOrder(const Schedule& schedule, int places) : schedule_(schedule), places_(places) {}

  bool ends_well() {
    std::map<Node, int> times;
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      for (const Op& op : schedule_.ops[stage]) {
        for (const Node& node : done_by(schedule_, stage, op)) ++times[node];
      }
    }
    const int nodes = 3 * schedule_.map().groups() * schedule_.micro_batches * schedule_.segments;
    if (static_cast<int>(times.size()) != nodes) return false;
    if (std::ranges::any_of(times, [](const auto& entry) { return entry.second != 1; })) return false;
    return every_path_ends({.next = std::vector<size_t>(schedule_.stages, 0),
                            .sends = std::vector<std::vector<Node>>(schedule_.stages),
                            .channels = {},
                            .done = {}});
  }

 private:
  using Channel = std::tuple<int, int, char>;
  struct State {
    std::vector<size_t> next;
    std::vector<std::vector<Node>> sends;  // made, not in a channel yet
    std::map<Channel, std::vector<Node>> channels;
    std::set<Node> done;
    auto operator<=>(const State&) const = default;
  };

  bool every_path_ends(const State& state) {
    if (!seen_.insert({state.next, state.sends}).second) return true;
    bool anything = false;
    bool all_done = true;
    for (int stage = 0; stage < schedule_.stages; ++stage) {
      all_done = all_done && state.next[stage] == schedule_.ops[stage].size();
      State after = state;
      if (!move(after, stage)) continue;
      anything = true;
      if (!every_path_ends(after)) return false;
    }
    return anything || all_done;
  }

  int stage_of(const Node& node) const { return schedule_.map().stage_of(std::get<1>(node)); }

  bool move(State& state, int stage) {
    if (!state.sends[stage].empty()) return send(state, stage);
    if (state.next[stage] == schedule_.ops[stage].size()) return false;
    const Op& op = schedule_.ops[stage][state.next[stage]];
    const Node node = done_by(schedule_, stage, op).front();
    for (const Node& need : needs_of(schedule_, node)) {
      const int from = stage_of(need);
      if (from == stage) {
        if (!state.done.contains(need)) return false;
        continue;
      }
      auto& channel = state.channels[{from, stage, std::get<0>(need)}];
      if (channel.empty() || channel.front() != need) return false;
      channel.erase(channel.begin());
    }
    for (const Node& made : done_by(schedule_, stage, op)) {
      state.done.insert(made);
      const int reader = std::get<1>(made) + (std::get<0>(made) == 'F' ? 1 : -1);
      const bool read = std::get<0>(made) != 'W' && reader >= 0 && reader < schedule_.map().groups() &&
                        schedule_.map().stage_of(reader) != stage;
      if (read) state.sends[stage].push_back(made);
    }
    ++state.next[stage];
    return true;
  }

  bool send(State& state, int stage) {
    const Node node = state.sends[stage].front();
    const int reader = std::get<1>(node) + (std::get<0>(node) == 'F' ? 1 : -1);
    auto& channel = state.channels[{stage, schedule_.map().stage_of(reader), std::get<0>(node)}];
    if (static_cast<int>(channel.size()) >= places_) return false;
    channel.push_back(node);
    state.sends[stage].clear();
    return true;
  }

  const Schedule& schedule_;
  const int places_;
  // Channels and what is done follow from these.
  std::set<std::pair<std::vector<size_t>, std::vector<std::vector<Node>>>> seen_;
};

ScheduleSpec some_spec(Dice& dice) {
  const std::vector<ScheduleKind> kinds = all_schedule_kinds();
  const ScheduleKind kind = kinds[upto(dice, static_cast<int>(kinds.size()) - 1)];
  const int stages = 1 + upto(dice, 2);
  const int micro_batches = 1 + upto(dice, 2);
  ScheduleSpec spec = smallest_spec(kind, stages, micro_batches);
  if (spec.kind == ScheduleKind::Interleaved) spec.micro_batches = spec.stages;
  if (spec.kind == ScheduleKind::ZeroBubbleAuto) spec.most_in_flight = 1 + upto(dice, 2);
  return spec;
}

// Swaps neighbours mostly, and now and then loses, doubles or renames an op.
void spoil(Schedule& schedule, Dice& dice) {
  std::vector<Op>& ops = schedule.ops[upto(dice, schedule.stages - 1)];
  const int place = upto(dice, static_cast<int>(ops.size()) - 1);
  switch (upto(dice, 9)) {
    case 0:
      ops.erase(ops.begin() + place);
      return;
    case 1:
      ops.push_back(ops[place]);
      return;
    case 2:
      ops[place].micro_batch = upto(dice, schedule.micro_batches - 1);
      return;
    case 3:
      std::swap(ops[place], ops[upto(dice, static_cast<int>(ops.size()) - 1)]);
      return;
    default:
      if (place + 1 < static_cast<int>(ops.size())) std::swap(ops[place], ops[place + 1]);
  }
}

TEST(ValidateSchedule, AgreesWithTryingEveryOrderOfTheStages) {
  CARAVAN_BY_TURNS();
  const test::Sample sample(10);
  Dice dice(1);
  std::array<int, 2> verdicts{};
  for (int round = 0; round < 10'000; ++round) {
    Schedule schedule = generate_schedule(some_spec(dice));
    for (int spoilt = upto(dice, 3); spoilt > 0; --spoilt) spoil(schedule, dice);
    const int places = upto(dice, 1) == 0 ? 1 : 1000;
    if (!sample.takes(round)) continue;
    const Status verdict = validate_schedule(schedule, {.messages_under_way = places});
    ASSERT_EQ(verdict.has_value(), EveryOrder(schedule, places).ends_well())
        << "round " << round << ": " << (verdict ? "found good" : verdict.error().message);
    ++verdicts[verdict.has_value()];
  }
  EXPECT_GT(verdicts[0], verdicts[1] / 4);
  EXPECT_GT(verdicts[1], verdicts[0] / 4);
}

// The longest chain of ops that follow each other.
double longest_chain(const Schedule& schedule, const OpTimes& times) {
  std::map<Node, std::pair<int, size_t>> place;
  for (int stage = 0; stage < schedule.stages; ++stage) {
    for (size_t i = 0; i < schedule.ops[stage].size(); ++i) {
      for (const Node& node : done_by(schedule, stage, schedule.ops[stage][i])) place[node] = {stage, i};
    }
  }
  std::map<std::pair<int, size_t>, double> ends;
  const std::function<double(int, size_t)> end_of = [&](int stage, size_t i) {
    if (const auto known = ends.find({stage, i}); known != ends.end()) return known->second;
    const Op& op = schedule.ops[stage][i];
    double start = i == 0 ? 0 : end_of(stage, i - 1);
    for (const Node& need : needs_of(schedule, done_by(schedule, stage, op).front())) {
      const auto [other, at] = place.at(need);
      start = std::max(start, end_of(other, at) + (other == stage ? 0 : times.transfer));
    }
    return ends[{stage, i}] = start + times.of(schedule.map(), stage, op);
  };
  double longest = 0;
  for (int stage = 0; stage < schedule.stages; ++stage)
    longest = std::max(longest, end_of(stage, schedule.ops[stage].size() - 1));
  return longest;
}

OpTimes some_times(const ScheduleSpec& spec, Dice& dice) {
  const auto some = [&] { return 0.5 + upto(dice, 1000) / 1000.0; };
  OpTimes times{.groups = {}, .segments = spec.segments, .transfer = some() / 10};
  for (int unit = 0; unit < spec.map().groups() * spec.segments; ++unit)
    times.groups.push_back({some(), some(), some()});
  return times;
}

TEST(Simulate, TakesAsLongAsTheLongestChainOfOps) {
  Dice dice(2);
  for (int round = 0; round < 500; ++round) {
    const ScheduleSpec spec = some_spec(dice);
    const OpTimes times = some_times(spec, dice);
    const Schedule schedule = generate_schedule(spec, times);
    EXPECT_NEAR(simulate(schedule, times).makespan, longest_chain(schedule, times), 1e-9)
        << schedule_name(spec.kind) << " p=" << spec.stages << " m=" << spec.micro_batches;
  }
}

// All lists of a stage that take micro-batches in order and hold no more than so many.
void append_lists(int micro_batches, int most_held, std::array<int, 3> done, std::vector<Op>& list,
                  std::vector<std::vector<Op>>& lists) {
  const auto [forwards, backwards, weights] = done;
  if (weights == micro_batches) lists.push_back(list);
  const auto go_on = [&](OpType type, int which) {
    list.push_back({.type = type, .micro_batch = done[which]});
    std::array<int, 3> more = done;
    ++more[which];
    append_lists(micro_batches, most_held, more, list, lists);
    list.pop_back();
  };
  if (forwards < micro_batches && forwards - weights < most_held) go_on(OpType::Forward, 0);
  if (backwards < forwards) go_on(OpType::BackwardInput, 1);
  if (weights < backwards) go_on(OpType::BackwardWeight, 2);
}

double shortest_of_all(const ScheduleSpec& spec, const OpTimes& times) {
  std::vector<std::vector<Op>> lists;
  std::vector<Op> list;
  append_lists(spec.micro_batches, spec.most_in_flight, {}, list, lists);
  Schedule schedule{.stages = 2, .micro_batches = spec.micro_batches, .ops = {{}, {}}};
  double shortest = std::numeric_limits<double>::infinity();
  for (const auto& first : lists) {
    for (const auto& second : lists) {
      schedule.ops = {first, second};
      if (validate_schedule(schedule)) shortest = std::min(shortest, simulate(schedule, times).makespan);
    }
  }
  return shortest;
}

TEST(GenerateSchedule, AutomaticZeroBubbleIsNearTheBestOfAllLists) {
  CARAVAN_BY_TURNS();
  Dice dice(3);
  double sum_of_ratios = 0;
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds; ++round) {
    const ScheduleSpec spec{.kind = ScheduleKind::ZeroBubbleAuto,
                            .stages = 2,
                            .micro_batches = 3,
                            .most_in_flight = 1 + upto(dice, 2)};
    const OpTimes times = some_times(spec, dice);
    const double best = shortest_of_all(spec, times);
    const double found = simulate(generate_schedule(spec, times), times).makespan;
    EXPECT_GE(found, best - 1e-9);
    EXPECT_LE(found, 1.1 * best) << "round " << round << ", held " << spec.most_in_flight;
    sum_of_ratios += found / best;
  }
  EXPECT_LE(sum_of_ratios / kRounds, 1.02);
}

}  // namespace
}  // namespace caravan::planner
