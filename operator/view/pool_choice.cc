#include "operator/view/pool_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "planner/engine_profile.h"

namespace caravan::controller {
namespace {

constexpr std::size_t kMostPools = 8;    // that are planned for: each takes as long as a plan does
constexpr std::size_t kMostInWords = 4;  // that the sentence names

struct Trial {
  const SurveyedJob* place = nullptr;
  Result<v1alpha1::PlanReport> answer = {};

  const DevicePool& pool() const { return *place->pool; }
  int wanted() const { return place->spec.resources().devices(); }
  bool holds_all() const { return pool().devices >= wanted(); }
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

// "Of the node pools it is on A (8 a node): 1.2 s a step. Others: B (8 a node): 2.3 s a step."
std::string say_choice(const std::vector<Trial>& trials) {
  const Trial& best = trials.front();
  std::vector<std::string> others;
  for (std::size_t i = 1; i < std::min(trials.size(), 1 + kMostInWords); ++i)
    others.push_back(say_other(trials[i]));
  const std::string more =
      trials.size() > 1 + kMostInWords ? fmt::format(" and {} more", trials.size() - 1 - kMostInWords) : "";
  return fmt::format("Of the node pools it takes {}: {}{}. Others: {}{}.", name_of(best.pool()),
                     best.holds_all() ? "" : say_room(best) + ", ", say_step(best), fmt::join(others, "; "),
                     more);
}

// says_what_would_do: see planner/plan.h.
Result<v1alpha1::PlanReport> plan_at(const SurveyedJob& place, bool says_what_would_do = true) {
  return planner::plan_job(place.spec, place.facts, planner::default_engine_profile(),
                           {.says_what_would_do = says_what_would_do});
}

// Of the largest pool: the one that the fewest devices stand in the way of.
Error refusal_of(const std::vector<Trial>& trials) {
  const Trial& first = trials.front();
  const auto told = plan_at(*first.place);
  std::vector<std::string> others;
  for (std::size_t i = 1; i < std::min(trials.size(), 1 + kMostInWords); ++i)
    others.push_back(name_of(trials[i].pool()));
  Error error = told ? first.answer.error() : told.error();
  const char* stop = error.message.ends_with('.') ? "" : ".";
  error.message = fmt::format("{}{} That is of the nodes with {}; no other pool serves either: {}.",
                              error.message, stop, name_of(first.pool()), fmt::join(others, ", "));
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
  for (const SurveyedJob& place : places) {
    if (trials.size() < kMostPools)
      trials.push_back({.place = &place, .answer = plan_at(place, /*says_what_would_do=*/false)});
  }
  std::ranges::stable_sort(trials, is_better);
  if (!trials.front().answer) return tl::unexpected(refusal_of(trials));
  return ChosenPlace{.place = static_cast<std::size_t>(trials.front().place - places.data()),
                     .plan = trials.front().answer->plan(),
                     .gpu_product = trials.front().place->gpu_product,
                     .why = say_choice(trials)};
}

}  // namespace caravan::controller
