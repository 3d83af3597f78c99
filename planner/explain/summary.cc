#include "planner/explain/summary.h"

#include <fmt/format.h>

#include <numeric>

#include "common/readable_bytes.h"
#include "planner/explain/estimate.h"
#include "planner/explain/figures.h"
#include "planner/explain/memory_bars.h"
#include "planner/explain/table.h"
#include "planner/memory/risk.h"

namespace caravan::planner {
namespace {

// "60.0 GiB ± 8 %"
std::string peak_text(const v1alpha1::Plan& plan) {
  const double error = plan.has_memory_error() ? plan.memory_error() : kUnmeasuredMemoryError;
  return readable_bytes(plan.peak_bytes()) + error_text(error);
}

std::string room_text(const v1alpha1::Plan& plan) {
  const int64_t room = plan.usable_bytes() - plan.peak_bytes();
  const std::string left =
      room >= 0 ? readable_bytes(room) + " to spare" : readable_bytes(-room) + " missing";
  return fmt::format(" It fits into the {} that are usable with a chance of {}, {}.",
                     readable_bytes(plan.usable_bytes()), readable_chance(plan.fit_chance()), left);
}

std::string memory_headline(const v1alpha1::Plan& plan) {
  const std::string where = plan.pipeline() > 1 ? fmt::format(", on stage {}", plan.binding_stage()) : "";
  const std::string validated = plan.has_memory_error() ? "" : ", not validated";
  return fmt::format("Memory per device at its peak{}: {}{}.{}", where, peak_text(plan), validated,
                     plan.has_fit_chance() ? room_text(plan) : "");
}

std::string recomputed_text(const v1alpha1::Plan& plan) {
  const auto& some = plan.recomputed_layers();
  const auto& all = plan.layers_per_stage();
  const char* part = plan.recomputed_part().empty() ? "" : " of the MLPs";
  return fmt::format("{} of {} of {} layers", part, std::accumulate(some.begin(), some.end(), 0),
                     std::accumulate(all.begin(), all.end(), 0));
}

}  // namespace

std::string devices_summary(const v1alpha1::Plan& plan) {
  const std::string product = plan.device_product().empty() ? "" : " " + plan.device_product();
  return fmt::format("{}{} device{}", plan.devices(), product, plan.devices() == 1 ? "" : "s");
}

std::string memory_summary(const v1alpha1::Plan& plan, int width, bool all) {
  const MemoryChart chart = memory_chart(plan);
  return paragraph(memory_headline(plan), width) + memory_legend(chart, width) +
         memory_bars(chart, width, all);
}

std::string layout_summary(const v1alpha1::Plan& plan) {
  std::string text = fmt::format("TP{} PP{} DP{}, micro-batch size {}, {} micro-batch{} per step",
                                 plan.tensor(), plan.pipeline(), plan.data(), plan.micro_batch_size(),
                                 plan.gradient_accumulation(), plan.gradient_accumulation() == 1 ? "" : "es");
  if (plan.pipeline() > 1) text += ", " + plan.schedule();
  if (plan.virtual_stages() > 1) text += fmt::format(", {} chunks of layers a stage", plan.virtual_stages());
  if (plan.segment_tokens_size() > 0)
    text += fmt::format(", {} segments of a sequence", plan.segment_tokens_size());
  if (plan.zero_stage() > 1) text += fmt::format(", ZeRO stage {}", plan.zero_stage());
  if (plan.sequence_parallel()) text += ", sequence parallelism";
  if (plan.activation_checkpointing() == v1alpha1::ActivationCheckpointing::Always) {
    text += ", activation checkpointing";
    if (plan.recomputed_layers_size() > 0) text += recomputed_text(plan);
  }
  return text;
}

std::string plan_summary(const v1alpha1::PlanReport& report, int width, bool all) {
  const v1alpha1::Plan& plan = report.plan();
  const std::string title = fmt::format("Plan: {} on {}", layout_summary(plan), devices_summary(plan));
  const std::string speed = estimate_text(plan);
  return fmt::format("{}{}\n{}{}{}", paragraph(title, width), paragraph(plan.reason(), width),
                     memory_summary(plan, width, all), speed.empty() ? "" : "\n", speed);
}

}  // namespace caravan::planner
