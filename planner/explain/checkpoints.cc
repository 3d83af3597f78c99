#include "planner/explain/checkpoints.h"

#include <fmt/format.h>

#include "common/quantity.h"
#include "common/readable_bytes.h"
#include "common/readable_duration.h"
#include "common/readable_integer.h"
#include "planner/explain/figures.h"
#include "planner/explain/table.h"
#include "planner/memory/host_memory.h"
#include "planner/time/save_interval.h"

namespace caravan::planner {
namespace {

std::string interval_text(const v1alpha1::Checkpoint& checkpoint, const v1alpha1::Plan& plan) {
  if (checkpoint.has_every_seconds()) return "every " + readable_duration(checkpoint.every_seconds());
  if (!checkpoint.has_every_steps()) {
    return fmt::format("about every {} at first, later as their cost and the job's failures ask for",
                       readable_duration(best_save_interval({}, {.ranks = plan.devices()})));
  }
  std::string steps = fmt::format("every {} steps", readable_integer(checkpoint.every_steps()));
  if (!plan.has_step_seconds()) return steps;
  return fmt::format("{}, about every {}", steps,
                     readable_duration(checkpoint.every_steps() * plan.step_seconds()));
}

}  // namespace

std::string checkpoints_text(const v1alpha1::JobSpec& spec, const v1alpha1::Plan& plan, int width) {
  if (!spec.has_checkpoint()) return paragraph(kNoCheckpoints, width);
  std::string text = fmt::format("Checkpoints: {}.", interval_text(spec.checkpoint(), plan));
  if (plan.host_snapshot_bytes() > 0) {
    text += fmt::format(" While one is written, {} of a node's memory hold a copy.",
                        readable_bytes(plan.host_snapshot_bytes()));
  }
  return paragraph(text, width);
}

std::string checkpoints_trouble(const v1alpha1::JobSpec& spec, const v1alpha1::Plan& plan) {
  const int ranks = plan.devices_per_node();
  const auto memory = parse_quantity(spec.worker().resources().memory());
  const int64_t needed = host_bytes(plan, ranks, spec.training());
  if (!memory || plan.host_snapshot_bytes() == 0 || needed <= *memory) return {};
  return fmt::format(
      "spec.worker.resources.memory is {}, and {} hold a copy of a checkpoint on each node while it is "
      "written, beside about {} that its {}: raise it, or give the job more data parallel ranks",
      spec.worker().resources().memory(), readable_bytes(plan.host_snapshot_bytes()),
      readable_bytes(needed - plan.host_snapshot_bytes()),
      ranks == 1 ? "rank takes" : fmt::format("{} ranks take", ranks));
}

}  // namespace caravan::planner
