#include "planner/plan.h"

#include <fmt/format.h>

#include "planner/model/parameters.h"
#include "planner/report.h"
#include "planner/request.h"
#include "planner/search/remedy.h"
#include "planner/search/search.h"

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

std::vector<std::string> warnings_for(const PlanRequest& request) {
  const auto& positions = request.shape.positions;
  if (!positions || request.training.sequence_length <= *positions) return {};
  return {fmt::format("spec.training.sequenceLength: {} is longer than the {} positions that {} was made for",
                      request.training.sequence_length, *positions, request.shape.name)};
}

}  // namespace

PlanAnswer answer_job(const v1alpha1::JobSpec& spec, const DeviceFacts& facts, const EngineProfile& profile,
                      const PlanOptions& options) {
  PlanAnswer answer;
  const auto request = read_request(spec, facts);
  if (!request) {
    answer.error = request.error();
    return answer;
  }
  answer.warnings = warnings_for(*request);
  answer.report.set_usable_bytes(usable_bytes(request->devices, profile).value_or(0));
  const SearchResult result = search_layouts(*request, profile, options);
  for (const EvaluatedLayout& candidate : result.candidates) {
    *answer.report.add_candidates() = candidate_message(candidate);
  }
  if (!result.anything_legal()) {
    answer.error = no_legal_layout(*request, result);
  } else if (const EvaluatedLayout* chosen = result.chosen()) {
    *answer.report.mutable_plan() = plan_message(*request, *chosen, profile);
  } else {
    answer.error = Error{describe_shortage(*request, profile, result), ExitCode::kDoesNotFit};
  }
  return answer;
}

Result<v1alpha1::PlanReport> plan_job(const v1alpha1::JobSpec& spec, const DeviceFacts& facts,
                                      const EngineProfile& profile, const PlanOptions& options) {
  PlanAnswer answer = answer_job(spec, facts, profile, options);
  if (answer.error) return tl::unexpected(*answer.error);
  return std::move(answer.report);
}

}  // namespace caravan::planner
