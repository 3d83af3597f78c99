#include "planner/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/readable_bytes.h"
#include "common/readable_percent.h"
#include "planner/memory/memory_model.h"
#include "planner/report.h"
#include "planner/request.h"
#include "planner/search/enumerate.h"
#include "planner/search/legality.h"
#include "planner/search/remedy.h"
#include "planner/search/search.h"
#include "planner/time/time_model.h"
#include "planner/warnings.h"

namespace caravan::planner {
namespace {

// One open choice: its rule is the mistake. Several: the first one's stands for all.
Error no_legal_layout(const PlanRequest& request, const SearchResult& result) {
  if (result.candidates.empty()) {
    return {fmt::format("spec.parallelism: there is no layout for {} devices", request.devices.count),
            ExitCode::kBadInput};
  }
  std::string message = result.candidates.front().reason;
  if (result.candidates.size() > 1) {
    message += fmt::format("; no other layout of {} devices is legal either", request.devices.count);
  }
  return {std::move(message), ExitCode::kBadInput};
}

PlanAnswer answer_request(const PlanRequest& request, const EngineProfile& profile,
                          const PlanOptions& options) {
  PlanAnswer answer;
  answer.report.set_usable_bytes(usable_bytes(request.devices, profile).value_or(0));
  const SearchResult result = search_layouts(request, profile, options);
  answer.warnings = warnings_for(request, result.chosen());
  if (options.gives_up && options.gives_up()) {
    answer.error = Error{"planning was given up before all layouts had been judged", ExitCode::kJobFailed};
    return answer;
  }
  for (const EvaluatedLayout& candidate : result.candidates) {
    *answer.report.add_candidates() = candidate_message(candidate);
  }
  if (!result.anything_legal()) {
    answer.error = no_legal_layout(request, result);
  } else if (const EvaluatedLayout* chosen = result.chosen()) {
    *answer.report.mutable_plan() = plan_message(request, *chosen, profile);
  } else {
    answer.error = Error{options.says_what_would_do ? describe_shortage(request, profile, result)
                                                    : name_shortage(request, profile, result),
                         ExitCode::kDoesNotFit};
  }
  return answer;
}

// What others remember of a plan may be of another version.
Result<Layout> read_tried(const PlanRequest& request, const v1alpha1::Plan& plan,
                          const EngineProfile& profile) {
  Layout layout = layout_value(plan);
  if (const auto illegal = find_illegality(request, layout, profile))
    return bad_input(fmt::format("the plan before: {}", illegal->message()));
  const auto& again = layout.recomputed_layers;
  if (!again.empty() && again.size() != layout.layers_per_stage.size())
    return bad_input("the plan before: recomputedLayers must have one entry for each pipeline stage");
  layout.group_times = arranged_group_times(request, layout, profile);
  return layout;
}

// Of what the layout that ran out of memory needed.
constexpr double kClearlyLess = 0.9;

// What may be taken of a device whose ranks were to have `usable_bytes` (0: nobody knew) and needed so much
// when they were refused more. They would have gone on to take more, so that the next layout must need
// clearly less.
void leave_less_than(int64_t needed_bytes, int64_t usable_bytes, const EngineProfile& profile,
                     PlanRequest& request) {
  DevicePool& devices = request.devices;
  const auto less = static_cast<int64_t>(kClearlyLess * static_cast<double>(needed_bytes));
  request.must_need_less = usable_bytes <= 0 || less < usable_bytes;
  devices.memory_bytes = memory_for(request.must_need_less ? less : usable_bytes, devices, profile);
  if (devices.machine) devices.machine->memory_bytes = *devices.memory_bytes * devices.count;
}

std::string in_words(const v1alpha1::MemoryCorrection& correction) {
  return fmt::format("{} at {} % of what was predicted, as the ranks of attempt {} took them",
                     correction.term(), correction.percent(), correction.attempt());
}

// Why no other layout does. Where that is not the devices' memory, it says what is.
std::string no_other_layout(const PlanRequest& request, const v1alpha1::MemoryCorrection& correction,
                            const EngineProfile& profile, const std::string& mistake) {
  if (!request.must_need_less) return fmt::format("with {}, {}", in_words(correction), mistake);
  return fmt::format("with {}, a layout must need at most {}, {} of what the one that ran out needed; {}",
                     in_words(correction), readable_bytes(usable_bytes(request.devices, profile).value_or(0)),
                     readable_rough_percent(kClearlyLess), mistake);
}

}  // namespace

Status check_job(const v1alpha1::JobSpec& spec, const EngineProfile& profile) {
  constexpr int64_t kEnough = int64_t{1} << 50;
  const auto request =
      read_request(spec, {.memory_bytes = kEnough, .devices_per_node = spec.resources().devices()});
  if (!request) return tl::unexpected(request.error());
  const auto is_legal = [&](const Layout& layout) { return !find_illegality(*request, layout, profile); };
  if (std::ranges::any_of(enumerate_layouts(*request, profile), is_legal)) return {};
  return tl::unexpected(no_legal_layout(*request, search_layouts(*request, profile, {})));
}

PlanAnswer answer_job(const v1alpha1::JobSpec& spec, const DeviceFacts& facts, const EngineProfile& profile,
                      const PlanOptions& options) {
  const auto request = read_request(spec, facts);
  if (!request) return {.report = {}, .error = request.error()};
  return answer_request(*request, profile, options);
}

Result<v1alpha1::PlanReport> plan_job(const v1alpha1::JobSpec& spec, const DeviceFacts& facts,
                                      const EngineProfile& profile, const PlanOptions& options) {
  PlanAnswer answer = answer_job(spec, facts, profile, options);
  if (answer.error) return tl::unexpected(*answer.error);
  return std::move(answer.report);
}

Result<v1alpha1::PlanReport> plan_again(const TriedPlan& before, const v1alpha1::JobSpec& spec,
                                        const DeviceFacts& facts, const EngineProfile& profile) {
  auto request = read_request(spec, facts);
  if (!request) return tl::unexpected(request.error());
  request->correction = before.correction;
  const auto tried = read_tried(*request, before.plan, profile);
  if (!tried) return tl::unexpected(tried.error());
  const int64_t needed = predict_memory(*request, *tried, profile).peak_bytes();
  leave_less_than(needed, before.plan.usable_bytes(), profile, *request);
  PlanAnswer answer = answer_request(*request, profile, {});
  if (answer.error) {
    return tl::unexpected(Error{no_other_layout(*request, before.correction, profile, answer.error->message),
                                answer.error->code});
  }
  v1alpha1::Plan& plan = *answer.report.mutable_plan();
  *plan.mutable_memory_correction() = before.correction;
  plan.set_reason(fmt::format("Planned again with {}. {}", in_words(before.correction), plan.reason()));
  // What the search was left of it is no limit of the device.
  plan.set_usable_bytes(before.plan.usable_bytes());
  answer.report.set_usable_bytes(before.plan.usable_bytes());
  return std::move(answer.report);
}

}  // namespace caravan::planner
