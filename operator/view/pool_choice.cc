#include "operator/view/pool_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "planner/device/catalogue.h"
#include "planner/engine_profile.h"

namespace caravan::controller {
namespace {

constexpr std::size_t kMostPools = 8;    // that are planned for: each takes as long as a plan does
constexpr std::size_t kMostInWords = 4;  // that the sentence names

bool holds_all_of(const SurveyedJob& place) {
  return place.pool->devices >= place.spec.resources().devices();
}

// Of those that hold the job first the fastest products that are known, then the roomiest, then the largest
// nodes.
auto promise_of(const SurveyedJob* place) {
  const bool holds_all = holds_all_of(*place);
  const auto known = holds_all ? planner::find_device(place->pool->product) : std::nullopt;
  return std::make_tuple(holds_all, known ? known->matrix_flops : 0.0, known ? known->memory_bytes : 0,
                         holds_all ? place->pool->devices_per_node : 0);
}

// Which of them are planned for. Equal ones stay as they stand, the largest first.
std::vector<const SurveyedJob*> most_promising(const std::vector<SurveyedJob>& places) {
  std::vector<const SurveyedJob*> order;
  for (const SurveyedJob& place : places) order.push_back(&place);
  std::ranges::stable_sort(order, std::greater(), promise_of);
  order.resize(std::min(order.size(), kMostPools));
  return order;
}

struct Trial {
  const SurveyedJob* place = nullptr;
  Result<v1alpha1::PlanReport> answer = {};

  const DevicePool& pool() const { return *place->pool; }
  int wanted() const { return place->spec.resources().devices(); }
  bool holds_all() const { return holds_all_of(*place); }
  bool knows_step() const { return answer && answer->plan().has_step_seconds(); }
  double step_seconds() const {
    return knows_step() ? answer->plan().step_seconds() : std::numeric_limits<double>::infinity();
  }
};

bool is_better(const Trial& a, const Trial& b) {
  if (a.answer.has_value() != b.answer.has_value()) return a.answer.has_value();
  if (a.holds_all() != b.holds_all()) return a.holds_all();
  if (!a.holds_all() && a.pool().devices != b.pool().devices) return a.pool().devices > b.pool().devices;
  if (a.step_seconds() != b.step_seconds()) return a.step_seconds() < b.step_seconds();
  if (a.pool().devices != b.pool().devices) return a.pool().devices > b.pool().devices;
  return std::tie(a.pool().product, b.pool().devices_per_node) <
         std::tie(b.pool().product, a.pool().devices_per_node);
}

std::string name_of(const DevicePool& pool) {
  return fmt::format("{} ({} a node)", pool.product.empty() ? "a product that no label names" : pool.product,
                     pool.devices_per_node);
}

std::string say_step(const Trial& trial) {
  return trial.knows_step() ? fmt::format("{:.3g} s a step", trial.step_seconds())
                            : std::string("step time unknown");
}

std::string say_room(const Trial& trial) {
  return fmt::format("{} of {} devices", std::min<std::int64_t>(trial.pool().devices, trial.wanted()),
                     trial.wanted());
}

std::string say_other(const Trial& trial) {
  const std::string name = name_of(trial.pool());
  if (!trial.answer) {
    const bool known = trial.answer.error().code == ExitCode::kDoesNotFit;
    return name + (known ? ": no layout fits" : ": cannot be planned for");
  }
  if (!trial.holds_all()) return fmt::format("{}: {}", name, say_room(trial));
  return fmt::format("{}: {}", name, say_step(trial));
}

// Of those behind the first.
std::string list_others(const std::vector<Trial>& trials, const char* separator,
                        std::string (*in_words)(const Trial&)) {
  std::vector<std::string> others;
  for (std::size_t i = 1; i < std::min(trials.size(), 1 + kMostInWords); ++i)
    others.push_back(in_words(trials[i]));
  const std::string more =
      trials.size() > 1 + kMostInWords ? fmt::format(" and {} more", trials.size() - 1 - kMostInWords) : "";
  return fmt::format("{}{}", fmt::join(others, separator), more);
}

std::string say_unseen(std::size_t pools) {
  if (pools == 0) return "";
  return pools == 1 ? " 1 more pool was not looked at."
                    : fmt::format(" {} more pools were not looked at.", pools);
}

// "Of the node pools it takes A (8 a node): 1.2 s a step. Others: B (8 a node): 2.3 s a step."
std::string say_choice(const std::vector<Trial>& trials, std::size_t unseen) {
  const Trial& best = trials.front();
  return fmt::format("Of the node pools it takes {}: {}{}. Others: {}.{}", name_of(best.pool()),
                     best.holds_all() ? "" : say_room(best) + ", ", say_step(best),
                     list_others(trials, "; ", say_other), say_unseen(unseen));
}

// says_what_would_do: see planner/plan.h.
Result<v1alpha1::PlanReport> plan_at(const SurveyedJob& place, bool says_what_would_do = true) {
  return planner::plan_job(place.spec, place.facts, planner::default_engine_profile(),
                           {.says_what_would_do = says_what_would_do});
}

// What is wrong with the job itself is the same on all of them.
bool is_wrong_everywhere(const std::vector<Trial>& trials) {
  const Error& first = trials.front().answer.error();
  return first.code == ExitCode::kBadInput && std::ranges::all_of(trials, [&](const Trial& trial) {
           return trial.answer.error().message == first.message;
         });
}

// Of the largest pool: the one that the fewest devices stand in the way of.
Error refusal_of(const std::vector<Trial>& trials, std::size_t unseen) {
  const Trial& first = trials.front();
  if (is_wrong_everywhere(trials)) return first.answer.error();
  const auto told = plan_at(*first.place);
  Error error = told ? first.answer.error() : told.error();
  const char* stop = error.message.ends_with('.') ? "" : ".";
  const std::string others =
      list_others(trials, ", ", [](const Trial& trial) { return name_of(trial.pool()); });
  error.message = fmt::format("{}{} That is of the nodes with {}; no other pool {}serves either: {}.{}",
                              error.message, stop, name_of(first.pool()),
                              unseen == 0 ? "" : "that was looked at ", others, say_unseen(unseen));
  return error;
}

}  // namespace

Result<ChosenPlace> choose_place(const std::vector<SurveyedJob>& places) {
  if (places.size() == 1) {
    auto answer = plan_at(places.front());
    if (!answer) return tl::unexpected(std::move(answer.error()));
    return ChosenPlace{.plan = std::move(*answer->mutable_plan()), .gpu_product = places.front().gpu_product};
  }
  std::vector<Trial> trials;
  for (const SurveyedJob* place : most_promising(places))
    trials.push_back({.place = place, .answer = plan_at(*place, /*says_what_would_do=*/false)});
  const std::size_t unseen = places.size() - trials.size();
  std::ranges::stable_sort(trials, is_better);
  if (!trials.front().answer) return tl::unexpected(refusal_of(trials, unseen));
  return ChosenPlace{.place = static_cast<std::size_t>(trials.front().place - places.data()),
                     .plan = trials.front().answer->plan(),
                     .gpu_product = trials.front().place->gpu_product,
                     .why = say_choice(trials, unseen)};
}

}  // namespace caravan::controller
