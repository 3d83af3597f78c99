// planner_evaluate CASES: what the planner predicts for measured layouts, for programs that fit a profile.
//
// CASES holds a JobPlan in JSON on each line, of which spec and the layout of plan count. Every line of
// standard input is an engine profile in JSON and is answered by one line, {"peakBytes": [...],
// "stepSeconds": [...], "refusals": [...]}, in the order of the cases. Layouts are taken as they are, legal
// or not; a refusal, empty where there is none, says what the planner has against one. What cannot be read
// ends the program with exit code 2 and the number of its line.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "common/json.h"
#include "common/readable_bytes.h"
#include "planner/engine_profile.h"
#include "planner/memory/memory_model.h"
#include "planner/report.h"
#include "planner/request.h"
#include "planner/search/legality.h"
#include "planner/time/time_model.h"

namespace caravan::planner {
namespace {

struct Case {
  PlanRequest request;
  Layout layout;
};

Result<Case> read_case(const std::string& line) {
  const auto job = from_json<v1alpha1::JobPlan>(line);
  if (!job) return tl::unexpected(job.error());
  auto request = read_request(job->spec(), {});
  if (!request) return tl::unexpected(request.error());
  if (!schedule_from_name(job->plan().schedule()))
    return bad_input("schedule: " + job->plan().schedule() + " is not known");
  return Case{.request = *std::move(request), .layout = layout_value(job->plan())};
}

Result<std::vector<Case>> read_cases(const std::string& path) {
  std::ifstream file(path);
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    auto read = read_case(line);
    if (!read) return bad_input(fmt::format("{}:{}: {}", path, cases.size() + 1, read.error().message));
    cases.push_back(*std::move(read));
  }
  if (cases.empty()) return bad_input(path + ": no cases");
  return cases;
}

Result<EngineProfile> read_profile(const std::string& line) {
  const auto message = from_json<v1alpha1::EngineProfile>(line);
  if (!message) return tl::unexpected(message.error());
  return read_engine_profile(*message);
}

std::string refusal(const Case& one, int64_t peak, const EngineProfile& profile) {
  if (const auto illegality = find_illegality(one.request, one.layout, profile)) return illegality->message();
  const auto usable = usable_bytes(one.request.devices, profile);
  if (!usable || peak <= *usable) return "";
  return fmt::format("needs {} of {} usable", readable_bytes(peak), readable_bytes(*usable));
}

void answer(const std::vector<Case>& cases, const EngineProfile& profile) {
  std::vector<int64_t> peaks;
  std::vector<std::string> seconds;
  std::vector<std::string> refusals;
  for (const Case& one : cases) {
    peaks.push_back(predict_memory(one.request, one.layout, profile).peak_bytes());
    const StepTime time = predict_step_time(one.request, one.layout, profile);
    seconds.push_back(time.seconds ? json_number(*time.seconds) : "null");
    refusals.push_back(json_string(refusal(one, peaks.back(), profile)));
  }
  fmt::print("{{\"peakBytes\": [{}], \"stepSeconds\": [{}], \"refusals\": [{}]}}\n", fmt::join(peaks, ", "),
             fmt::join(seconds, ", "), fmt::join(refusals, ", "));
  std::fflush(stdout);
}

Status evaluate(const std::string& path) {
  const auto cases = read_cases(path);
  if (!cases) return tl::unexpected(cases.error());
  int number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    const auto profile = read_profile(line);
    if (!profile) return bad_input(fmt::format("profile {}: {}", number, profile.error().message));
    answer(*cases, *profile);
  }
  return {};
}

}  // namespace
}  // namespace caravan::planner

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: planner_evaluate CASES < PROFILES\n");
    return 2;
  }
  const caravan::Status status = caravan::planner::evaluate(argv[1]);
  if (!status) fmt::print(stderr, "planner_evaluate: {}\n", status.error().message);
  return status ? 0 : static_cast<int>(status.error().code);
}
