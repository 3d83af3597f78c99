#include "worker/agent/job_file.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

#include "common/file_contents.h"
#include "common/json_of_any_version.h"
#include "planner/job_shape.h"

namespace caravan::agent {
namespace {

// What is wrong with the plan; empty when nothing is.
std::string problem_of(const v1alpha1::JobPlan& job, const AgentOptions& options) {
  const v1alpha1::Plan& plan = job.plan();
  if (job.job_name().empty()) return "jobName is missing";
  if (plan.tensor() < 1 || plan.pipeline() < 1 || plan.data() < 1)
    return "plan.tensor, pipeline and data must be at least 1";
  const planner::JobShape shape = planner::shape_of(job);
  if (job.nodes() < 1 || job.nodes() > shape.world_size) {
    return fmt::format("nodes is {}, but {} ranks need 1 to {}", job.nodes(), shape.world_size,
                       shape.world_size);
  }
  if (shape.first_rank(job.nodes() - 1) >= shape.world_size) {
    return fmt::format("{} ranks cannot be spread over {} nodes", shape.world_size, job.nodes());
  }
  if (job.spec().training().steps() < 1) return "spec.training.steps must be at least 1";
  if (options.node >= job.nodes())
    return fmt::format("nodes is {}, but --node is {}", job.nodes(), options.node);
  if (!options.job_uid.empty() && options.job_uid != job.job_uid()) {
    return fmt::format("jobUid is {}, but --job-uid is {}", job.job_uid(), options.job_uid);
  }
  return "";
}

// Of a plan that a later version wrote: a choice that the trainer of this version would make otherwise.
std::string unknown_choice(const v1alpha1::JobPlan& job) {
  const v1alpha1::JobSpec& spec = job.spec();
  const v1alpha1::Training& training = spec.training();
  std::vector<std::pair<int, std::string>> choices = {
      {job.plan().activation_checkpointing(), "plan.activationCheckpointing"},
      {spec.resources().device().kind(), "spec.resources.device.kind"},
      {training.precision(), "spec.training.precision"},
      {training.optimizer().kind(), "spec.training.optimizer.kind"},
      {training.optimizer().state_type(), "spec.training.optimizer.stateType"},
      {training.optimizer().schedule(), "spec.training.optimizer.schedule"}};
  if (spec.has_checkpoint()) choices.emplace_back(spec.checkpoint().resume(), "spec.checkpoint.resume");
  const auto& rules = spec.failure_policy().rules_list();
  for (int i = 0; i < rules.size(); ++i) {
    choices.emplace_back(rules[i].action(), fmt::format("spec.failurePolicy.rules[{}].action", i));
    // A rule without a condition would be one for every failure.
    choices.emplace_back(!rules[i].on_exit_codes().empty() || !rules[i].on_reason().empty(),
                         fmt::format("spec.failurePolicy.rules[{}]", i));
  }
  for (const auto& [value, field] : choices) {
    if (value == 0) return fmt::format("{} is not known to this version", field);
  }
  return "";
}

// left_out: what of it this version does not know.
Result<v1alpha1::JobPlan> read_plan(const AgentOptions& options, std::string& left_out) {
  const auto text = file_contents(options.plan_file);
  if (!text) return bad_input("--plan: " + text.error().message);
  auto read = from_json_of_any_version<v1alpha1::JobPlan>(*text);
  std::string problem = read ? problem_of(read->message, options) : read.error().message;
  if (problem.empty() && !read->left_out.empty()) problem = unknown_choice(read->message);
  if (!problem.empty()) return bad_input(fmt::format("--plan: {}: {}", options.plan_file, problem));
  left_out = std::move(read->left_out);
  return std::move(read->message);
}

}  // namespace

Result<v1alpha1::JobPlan> read_job(const AgentOptions& options) {
  std::string left_out;
  auto job = read_plan(options, left_out);
  if (!left_out.empty())
    spdlog::warn("{} is of a later version; left out of account: {}", options.plan_file, left_out);
  return job;
}

CoordinatorConfig coordinator_config(const v1alpha1::JobPlan& job, const AgentOptions& options) {
  const v1alpha1::JobSpec& spec = job.spec();
  CoordinatorConfig config{.shape = planner::shape_of(job),
                           .job_uid = job.job_uid(),
                           .steps = spec.training().steps(),
                           .ranks_per_stage = job.plan().tensor() * job.plan().data()};
  if (job.plan().has_device_peak_flops()) config.device_peak_flops = job.plan().device_peak_flops();
  const Limits limits = limits_of(spec);
  config.failure_policy = limits.failure_policy;
  config.stall_timeout = limits.stall_timeout;
  config.writes_checkpoints = spec.has_checkpoint();
  if (spec.has_active_deadline_seconds() && !options.losses_judged_elsewhere)
    config.active_deadline = std::chrono::seconds(spec.active_deadline_seconds());
  config.elapsed = options.elapsed;
  config.heartbeat = options.heartbeat;
  config.patience = options.patience;
  config.rejoin_timeout = options.rejoin_timeout;
  config.first_attempt = options.first_attempt;
  config.restarts = options.restarts;
  config.counted_restarts = options.counted_restarts;
  config.window_age = options.window_age;
  config.short_attempts = options.short_attempts;
  config.losses_judged_elsewhere = options.losses_judged_elsewhere;
  return config;
}

Result<v1alpha1::JobSpec> read_spec(const AgentOptions& options) {
  std::string left_out;  // said at the start
  return read_plan(options, left_out).map([](const v1alpha1::JobPlan& job) { return job.spec(); });
}

Limits limits_of(const v1alpha1::JobSpec& spec) {
  Limits limits{.failure_policy = spec.failure_policy()};
  if (spec.has_stall_timeout_seconds())
    limits.stall_timeout = std::chrono::seconds(spec.stall_timeout_seconds());
  return limits;
}

}  // namespace caravan::agent
