#include "cli/cluster/job_description.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cluster/job_table.h"
#include "common/readable_duration.h"
#include "planner/explain/table.h"

namespace caravan::cli {
namespace {

using controller::Job;
using controller::PodPhase;
using controller::PodView;
using planner::Align;

using Rows = std::vector<std::vector<std::string>>;

std::string section(const std::string& title, const std::string& text) {
  return text.empty() ? "" : fmt::format("\n{}\n{}", title, text);
}

std::string model_of(const v1alpha1::Model& model) {
  if (!model.preset().empty()) return model.preset();
  return model.has_init_from() ? "a model with weights of its own" : "a model of its own architecture";
}

std::string head(const Job& job, controller::TimePoint now, int width) {
  const v1alpha1::JobStatus& status = job.status;
  const v1alpha1::JobSpec& spec = job.spec;
  const std::string title =
      fmt::format("Job {} in namespace {}: {}", job.key.name, job.key.name_space,
                  status.state().empty() ? "not seen by an operator yet" : status.state());
  std::string what = fmt::format(
      "{} for {} steps of {} sequences of {} tokens, on {} devices. Created {} ago", model_of(spec.model()),
      spec.training().steps(), spec.training().global_batch_sequences(), spec.training().sequence_length(),
      spec.resources().devices(), age_text(job.created_at, now));
  if (status.has_attempt()) what += fmt::format(", attempt {}", status.attempt());
  if (status.restarts() > 0)
    what += fmt::format(", {} restart{}", status.restarts(), status.restarts() > 1 ? "s" : "");
  std::string text = planner::paragraph(title, width) + planner::paragraph(what + ".", width);
  for (const std::string& mistake : job.mistakes) text += planner::paragraph("Mistake: " + mistake, width);
  return text;
}

// In the order of time; a condition that is false tells of itself too, in its reason.
std::string story(const v1alpha1::JobStatus& status, controller::TimePoint now, int width) {
  std::vector<v1alpha1::Condition> all(status.conditions().begin(), status.conditions().end());
  std::ranges::stable_sort(all, {}, [](const auto& condition) { return condition.last_transition_time(); });
  Rows rows;
  for (const v1alpha1::Condition& condition : all) {
    rows.push_back({age_text(condition.last_transition_time(), now),
                    condition.status() == "True" ? condition.type() : "not " + condition.type(),
                    condition.reason(), condition.message()});
  }
  if (rows.empty()) return "";
  return planner::format_table({{.title = "SINCE", .align = Align::Right},
                                {.title = "CONDITION"},
                                {.title = "REASON", .optional = true},
                                {.title = "MESSAGE"}},
                               rows, width);
}

std::string plan(const v1alpha1::JobStatus& status, int width) {
  if (status.layout().empty()) return "";
  const v1alpha1::PlanStatus& plan = status.plan();
  if (plan.schedule().empty()) return planner::paragraph(status.layout(), width);
  std::string text = fmt::format("{}, micro-batch size {}, {} micro-batches a step, {}", status.layout(),
                                 plan.micro_batch_size(), plan.gradient_accumulation(), plan.schedule());
  if (plan.has_virtual_stages()) text += fmt::format(" with {} chunks a stage", plan.virtual_stages());
  if (plan.has_segments()) text += fmt::format(", {} segments a sequence", plan.segments());
  return planner::paragraph(fmt::format("{} ({}). {}", text, plan.source(), plan.reason()), width);
}

std::string seconds_text(const v1alpha1::PredictedStatus& predicted) {
  return predicted.has_step_milliseconds() ? fmt::format("{:.3g} s", predicted.step_milliseconds() / 1000.0)
                                           : "";
}

std::string figures(const v1alpha1::JobStatus& status) {
  const v1alpha1::ProgressStatus& now = status.progress();
  const v1alpha1::PredictedStatus& predicted = status.predicted();
  Rows rows;
  const auto add = [&](const char* name, const std::string& expected, const std::string& is) {
    if (!expected.empty() || !is.empty()) rows.push_back({name, expected, is});
  };
  add("step", "", now.has_step() ? fmt::format("{} of {}", now.step(), now.steps()) : "");
  add("loss", "", now.loss());
  add("step time", seconds_text(predicted), "");
  add("MFU", percent_text(predicted.mfu_percent()), percent_text(now.mfu_percent()));
  add("tokens/s", "", now.tokens_per_second());
  add("memory per device", predicted.memory_per_device(), now.peak_memory_per_device());
  add("time left", "",
      now.has_estimated_remaining_seconds() ? readable_duration(now.estimated_remaining_seconds()) : "");
  const v1alpha1::CheckpointStatus& saved = status.last_checkpoint();
  add("last checkpoint", "", saved.has_step() ? fmt::format("step {}", saved.step()) : "");
  if (rows.empty()) return "";
  return planner::format_table(
      {{.title = ""}, {.title = "PREDICTED", .align = Align::Right}, {.title = "NOW", .align = Align::Right}},
      rows);
}

std::string pods(const JobFacts& facts, int width) {
  Rows rows;
  for (const PodView& pod : facts.pods) {
    rows.push_back({pod.name, pod.machine, age_text(pod.created_at, facts.now), state_of_pod(pod)});
  }
  if (rows.empty()) return "";
  return planner::format_table(
      {{.title = "POD"}, {.title = "MACHINE"}, {.title = "AGE", .align = Align::Right}, {.title = "STATE"}},
      rows, width);
}

std::string end_of_pod(const PodView& pod) {
  if (pod.phase == PodPhase::kSucceeded) return "Succeeded";
  std::string text = "Failed";
  if (pod.evicted) text += ": evicted";
  if (pod.disrupted) text += ": pre-empted, or its machine was lost";
  if (pod.out_of_memory) text += ": out of memory";
  if (pod.exit_code) text += fmt::format(": exit code {}", *pod.exit_code);
  return text;
}

}  // namespace

std::string state_of_pod(const PodView& pod) {
  if (pod.ended()) return end_of_pod(pod);
  if (pod.gone_by) return "ends by " + controller::to_text(*pod.gone_by);
  if (pod.phase == PodPhase::kRunning) return "Running";
  if (!pod.trouble.empty()) return "Pending: " + pod.trouble;
  return pod.bound() ? "Pending: its container is being created" : "Pending: has no machine yet";
}

std::string describe_job(const JobFacts& facts, int width) {
  const v1alpha1::JobStatus& status = facts.job.status;
  std::string text = head(facts.job, facts.now, width);
  text += section("Story", story(status, facts.now, width));
  text += section("Plan", plan(status, width));
  text += section("Prediction, and what is", figures(status));
  text += section("Pods", pods(facts, width));
  text += section("Events", event_table(facts.events, facts.now, width));
  return text;
}

}  // namespace caravan::cli
