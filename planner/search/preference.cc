#include "planner/search/preference.h"

#include <cmath>

#include "planner/memory/risk.h"

namespace caravan::planner {
namespace {

bool leaves_out_sequence_parallelism(const PlanRequest& request, const Layout& layout) {
  return !request.fixed.sequence_parallel && layout.mesh.tensor > 1 && !layout.sequence_parallel &&
         request.training.sequence_length % layout.mesh.tensor == 0;
}

// Whether larger micro-batches pay, only a known device tells.
bool enlarges_micro_batches(const PlanRequest& request, const Layout& layout) {
  const bool may_pay = request.devices.known && layout.micro_batch_size <= kMaximumMicroBatch;
  return !request.fixed.micro_batch_size && layout.micro_batch_size > 1 && !may_pay;
}

// Holds more than 1F1B, and saves no more than transfers.
bool runs_all_forwards_first(const PlanRequest& request, const Layout& layout) {
  return !request.fixed.schedule && layout.schedule == ScheduleKind::GPipe && layout.mesh.pipeline > 1;
}

bool is_manual(const PlanRequest& request, const Layout& layout) {
  return leaves_out_sequence_parallelism(request, layout) || enlarges_micro_batches(request, layout) ||
         runs_all_forwards_first(request, layout) || layout.zero_stage < request.fixed.zero_stage;
}

// With several virtual stages that the user asks for, Interleaved is what 1F1B is without.
bool has_other_schedule(const PlanRequest& request, const Layout& layout) {
  return !request.fixed.schedule && request.fixed.virtual_stages.value_or(1) == 1 &&
         layout.schedule != ScheduleKind::OneFOneB;
}

bool costs_time(Tier tier) {
  return tier != Tier::Rule && tier != Tier::Manual;
}

}  // namespace

bool differ_in_schedule_alone(const Layout& a, const Layout& b) {
  return a.mesh == b.mesh && a.micro_batch_size == b.micro_batch_size &&
         a.sequence_parallel == b.sequence_parallel && a.zero_stage == b.zero_stage &&
         a.activation_checkpointing == b.activation_checkpointing;
}

bool may_be_picked(Tier tier) {
  return tier != Tier::Manual && tier != Tier::ManualCheckpointing;
}

Tier tier_of(const PlanRequest& request, const Layout& layout) {
  const bool more_sharding = layout.zero_stage > request.fixed.zero_stage;
  const bool checkpointing =
      layout.activation_checkpointing && request.fixed.checkpointing != CheckpointingPolicy::Always;
  if (is_manual(request, layout))
    return checkpointing || more_sharding ? Tier::ManualCheckpointing : Tier::Manual;
  if (checkpointing || (has_other_schedule(request, layout) && spares_memory(layout.schedule)))
    return more_sharding ? Tier::CheckpointingAndMoreSharding : Tier::Checkpointing;
  return more_sharding ? Tier::MoreSharding : Tier::Rule;
}

Preference Preference::without_time() const {
  Preference rule = *this;
  rule.expected_seconds = 0;
  return rule;
}

double handicap(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const int model_parallel = layout.mesh.tensor * layout.mesh.pipeline;
  const double doublings = std::log2(model_parallel) + std::log2(layout.micro_batch_size);
  const double schedule = has_other_schedule(request, layout) ? 1 + kOtherScheduleGain : 1;
  const double sparing = costs_time(tier_of(request, layout)) ? 1 + kSparingMemoryGain : 1;
  return schedule * sparing * std::pow(1 + profile.overrule_gain, doublings);
}

Preference preference_of(const PlanRequest& request, const Layout& layout, const Prediction& predicted,
                         const EngineProfile& profile) {
  const double seconds = handicap(request, layout, profile) * predicted.time.seconds.value_or(0);
  return {.risky = predicted.fit_chance < kSureToFit,
          .expected_seconds = seconds / predicted.fit_chance,
          .tier = tier_of(request, layout),
          .model_parallel = layout.mesh.tensor * layout.mesh.pipeline,
          .tensor = layout.mesh.tensor,
          .other_schedule = has_other_schedule(request, layout),
          .virtual_stages = layout.virtual_stages,
          .segments = layout.segment_count(),
          .micro_batch_size = layout.micro_batch_size,
          .without_sequence_parallel = !layout.sequence_parallel,
          .zero_stage = layout.zero_stage};
}

}  // namespace caravan::planner
