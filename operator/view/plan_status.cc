#include "operator/view/plan_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/quantity.h"

namespace caravan::controller {

void show_plan(const v1alpha1::Plan& plan, v1alpha1::JobStatus& status) {
  v1alpha1::PlanStatus& shown = *status.mutable_plan();
  shown.Clear();
  shown.set_tensor(plan.tensor());
  shown.set_pipeline(plan.pipeline());
  shown.set_data(plan.data());
  shown.set_micro_batch_size(plan.micro_batch_size());
  shown.set_gradient_accumulation(plan.gradient_accumulation());
  shown.set_checkpointing(plan.activation_checkpointing());
  shown.set_schedule(plan.schedule());
  if (plan.virtual_stages() > 1) shown.set_virtual_stages(plan.virtual_stages());
  if (plan.segment_tokens_size() > 1) shown.set_segments(plan.segment_tokens_size());
  shown.set_source(plan.source());
  shown.set_reason(plan.reason().substr(0, 1024));
  status.set_layout(fmt::format("TP{} PP{} DP{}", plan.tensor(), plan.pipeline(), plan.data()));
  v1alpha1::PredictedStatus& predicted = *status.mutable_predicted();
  predicted.Clear();
  predicted.set_memory_per_device(readable_quantity(plan.peak_bytes()));
  if (plan.has_mfu()) predicted.set_mfu_percent(fmt::format("{:.1f}", 100 * plan.mfu()));
  if (plan.has_step_seconds()) {
    const double milliseconds = std::min(std::ceil(1000 * plan.step_seconds()), 2e9);
    predicted.set_step_milliseconds(static_cast<int>(milliseconds));
  }
}

void fix_layout(const v1alpha1::PlanStatus& shown, v1alpha1::Parallelism& parallelism) {
  parallelism.set_tensor(shown.tensor());
  parallelism.set_pipeline(shown.pipeline());
  parallelism.set_data(shown.data());
  parallelism.set_micro_batch_size(shown.micro_batch_size());
  parallelism.set_schedule(shown.schedule());
  if (shown.has_virtual_stages()) parallelism.set_virtual_stages(shown.virtual_stages());
  if (shown.has_segments()) parallelism.set_segments(shown.segments());
  parallelism.set_activation_checkpointing(shown.checkpointing());
}

}  // namespace caravan::controller
