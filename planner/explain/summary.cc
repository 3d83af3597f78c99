#include "planner/explain/summary.h"

#include <fmt/format.h>

#include "planner/explain/figures.h"
#include "planner/explain/table.h"

namespace caravan::planner {
namespace {

constexpr int kBarWidth = 30;

std::string devices_summary(const v1alpha1::Plan& plan) {
  const std::string product = plan.device_product().empty() ? "" : " " + plan.device_product();
  return fmt::format("{}{} device{}", plan.devices(), product, plan.devices() == 1 ? "" : "s");
}

std::string memory_headline(const v1alpha1::Plan& plan) {
  const std::string usable =
      plan.usable_bytes() > 0 ? fmt::format(" of {} usable", readable_bytes(plan.usable_bytes())) : "";
  const std::string where = plan.pipeline() > 1 ? fmt::format(", on stage {}", plan.binding_stage()) : "";
  return fmt::format("Memory per device at its peak{}: {}{}\n", where, readable_bytes(plan.peak_bytes()),
                     usable);
}

std::string memory_terms(const v1alpha1::Plan& plan) {
  const v1alpha1::MemoryTerms& memory = plan.memory();
  const std::pair<const char*, int64_t> terms[] = {{"parameters", memory.parameters()},
                                                   {"gradients", memory.gradients()},
                                                   {"optimizer", memory.optimizer()},
                                                   {"activations", memory.activations()},
                                                   {"logits", memory.logits()},
                                                   {"workspace", memory.workspace()},
                                                   {"communication", memory.communication()},
                                                   {"overhead", memory.overhead()}};
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, bytes] : terms) {
    if (bytes > 0) rows.push_back({name, readable_bytes(bytes), bar(bytes, plan.peak_bytes(), kBarWidth)});
  }
  return format_table({{}, {.align = Align::Right}, {}}, rows);
}

std::string speed_line(const v1alpha1::Plan& plan) {
  const std::string bubble =
      plan.pipeline() > 1 ? fmt::format("pipeline idle {:.1f} % of a step", 100 * plan.bubble_fraction())
                          : "";
  if (!plan.has_step_seconds()) return bubble.empty() ? "" : fmt::format("Speed: {}\n", bubble);
  return fmt::format("Speed: {} per step, {} tokens/s, MFU {:.1f} % (causal {:.1f} %, HFU {:.1f} %){}{}\n",
                     readable_seconds(plan.step_seconds()), readable_count(plan.tokens_per_second()),
                     100 * plan.mfu(), 100 * plan.mfu_causal(), 100 * plan.hfu(), bubble.empty() ? "" : ", ",
                     bubble);
}

}  // namespace

std::string layout_summary(const v1alpha1::Plan& plan) {
  std::string text = fmt::format("TP{} PP{} DP{}, micro-batch size {}, {} micro-batch{} per step",
                                 plan.tensor(), plan.pipeline(), plan.data(), plan.micro_batch_size(),
                                 plan.gradient_accumulation(), plan.gradient_accumulation() == 1 ? "" : "es");
  if (plan.pipeline() > 1) text += ", " + plan.schedule();
  if (plan.sequence_parallel()) text += ", sequence parallelism";
  if (plan.activation_checkpointing() == v1alpha1::ActivationCheckpointing::Always)
    text += ", activation checkpointing";
  return text;
}

std::string plan_summary(const v1alpha1::PlanReport& report) {
  const v1alpha1::Plan& plan = report.plan();
  return fmt::format("Plan: {} on {}\n{}\n{}{}{}", layout_summary(plan), devices_summary(plan), plan.reason(),
                     memory_headline(plan), memory_terms(plan), speed_line(plan));
}

}  // namespace caravan::planner
