#include "planner/report.h"

#include <algorithm>

#include "planner/measured_error.h"
#include "planner/memory/risk.h"
#include "planner/memory/terms_message.h"
#include "planner/model/parameters.h"
#include "proto/caravan/v1alpha1/reasons.h"

namespace caravan::planner {
namespace {

constexpr char kRecomputedMlp[] = "MLP";

v1alpha1::Verdict::Value verdict_message(Verdict verdict) {
  switch (verdict) {
    case Verdict::Chosen:
      return v1alpha1::Verdict::Chosen;
    case Verdict::Slower:
      return v1alpha1::Verdict::Slower;
    case Verdict::DoesNotFit:
      return v1alpha1::Verdict::DoesNotFit;
    case Verdict::Illegal:
      return v1alpha1::Verdict::Illegal;
  }
  return v1alpha1::Verdict::Unspecified;
}

// Candidate and Plan name a layout's fields alike: flat, as tools read them from `caravan plan -o json` and
// operators from what earlier ones remember of a plan.
template <typename Message>
void set_layout(Message& message, const Layout& layout) {
  message.set_tensor(layout.mesh.tensor);
  message.set_pipeline(layout.mesh.pipeline);
  message.set_data(layout.mesh.data);
  message.set_micro_batch_size(layout.micro_batch_size);
  message.set_sequence_parallel(layout.sequence_parallel);
  message.set_activation_checkpointing(layout.activation_checkpointing
                                           ? v1alpha1::ActivationCheckpointing::Always
                                           : v1alpha1::ActivationCheckpointing::Never);
  message.set_virtual_stages(layout.virtual_stages);
  for (const int64_t tokens : layout.segments) message.add_segment_tokens(static_cast<int>(tokens));
  for (const int layers : layout.layers_per_stage) message.add_layers_per_stage(layers);
  for (const int layers : layout.recomputed_layers) message.add_recomputed_layers(layers);
  if (layout.recomputed_part == RecomputedPart::Mlp) message.set_recomputed_part(kRecomputedMlp);
  message.set_schedule(std::string(schedule_name(layout.schedule)));
  for (const PhaseTimes& group : layout.group_times) {
    for (const double time : {group.forward, group.backward_input, group.backward_weight})
      message.add_group_times(static_cast<int>(time));
  }
  message.set_zero_stage(layout.zero_stage);
}

template <typename Message>
std::vector<PhaseTimes> read_group_times(const Message& message) {
  std::vector<PhaseTimes> groups;
  const auto& times = message.group_times();
  for (int i = 0; i + 2 < times.size(); i += 3) {
    groups.push_back({.forward = static_cast<double>(times[i]),
                      .backward_input = static_cast<double>(times[i + 1]),
                      .backward_weight = static_cast<double>(times[i + 2])});
  }
  return groups;
}

template <typename Message>
Layout read_layout(const Message& message) {
  return {.mesh = {.tensor = message.tensor(), .data = message.data(), .pipeline = message.pipeline()},
          .micro_batch_size = message.micro_batch_size(),
          .sequence_parallel = message.sequence_parallel(),
          .activation_checkpointing =
              message.activation_checkpointing() == v1alpha1::ActivationCheckpointing::Always,
          .recomputed_part =
              message.recomputed_part() == kRecomputedMlp ? RecomputedPart::Mlp : RecomputedPart::Layer,
          .recomputed_layers = {message.recomputed_layers().begin(), message.recomputed_layers().end()},
          .virtual_stages = std::max(1, message.virtual_stages()),
          .layers_per_stage = {message.layers_per_stage().begin(), message.layers_per_stage().end()},
          .schedule = schedule_from_name(message.schedule()).value_or(ScheduleKind::OneFOneB),
          .segments = {message.segment_tokens().begin(), message.segment_tokens().end()},
          .group_times = read_group_times(message),
          .zero_stage = message.zero_stage()};
}

v1alpha1::StepParts parts_message(const StepParts& parts) {
  v1alpha1::StepParts message;
  message.set_compute(parts.compute);
  message.set_tensor_traffic(parts.tensor_traffic);
  message.set_idle(parts.idle);
  message.set_data_traffic(parts.data_traffic);
  message.set_optimizer(parts.optimizer);
  return message;
}

template <typename Message>
void set_prediction(Message& message, const EvaluatedLayout& evaluated) {
  const MemoryTerms& terms = evaluated.memory.terms;
  *message.mutable_memory() = terms_message(terms);
  message.set_peak_bytes(terms.total());
  message.set_binding_stage(evaluated.memory.binding_stage);
  if (evaluated.fit_chance) message.set_fit_chance(*evaluated.fit_chance);
  message.set_bubble_fraction(evaluated.time.bubble_fraction);
  if (evaluated.time.seconds) message.set_step_seconds(*evaluated.time.seconds);
  if (evaluated.time.mfu) message.set_mfu(*evaluated.time.mfu);
}

void set_speed(v1alpha1::Plan& message, const PlanRequest& request, const StepTime& time) {
  constexpr double kHour = 3600;
  const TrainingNumbers& training = request.training;
  const int64_t tokens = training.global_batch_sequences * training.sequence_length;
  message.set_tokens_per_second(static_cast<double>(tokens) / *time.seconds);
  message.set_mfu_causal(*time.mfu_causal);
  message.set_hfu(*time.hfu);
  if (training.steps == 0) return;
  const double hours = static_cast<double>(training.steps) * *time.seconds / kHour;
  message.set_training_days(hours / 24);
  message.set_gpu_hours(hours * request.devices.count);
}

}  // namespace

v1alpha1::Candidate candidate_message(const EvaluatedLayout& evaluated) {
  v1alpha1::Candidate message;
  set_layout(message, evaluated.layout);
  if (!evaluated.illegality) set_prediction(message, evaluated);
  if (evaluated.time.parts) *message.mutable_step_parts() = parts_message(*evaluated.time.parts);
  message.set_fits(evaluated.fits);
  message.set_verdict(verdict_message(evaluated.verdict));
  message.set_reason(evaluated.reason);
  return message;
}

Layout layout_value(const v1alpha1::Candidate& message) {
  return read_layout(message);
}

Layout layout_value(const v1alpha1::Plan& message) {
  return read_layout(message);
}

void write_layout(const Layout& layout, v1alpha1::Plan& message) {
  set_layout(message, layout);
}

void set_memory(v1alpha1::Plan& message, const PlanRequest& request, const Layout& layout,
                const EngineProfile& profile) {
  const MemoryModel memory(request, layout, profile);
  const Placement placement = place_layers(layout);
  for (int stage = 0; stage < layout.mesh.pipeline; ++stage) {
    const MemoryTerms terms = memory.of_stage(layout, placement, stage);
    message.add_peak_bytes_per_stage(terms.total());
    *message.add_memory_per_stage() = terms_message(terms);
  }
  if (!request.writes_checkpoints || !request.devices.gpu) return;
  int64_t snapshot = 0;
  for (int stage = 0; stage < layout.mesh.pipeline; ++stage)
    snapshot = std::max(snapshot, snapshot_bytes(request, layout, stage, profile));
  message.set_host_snapshot_bytes(snapshot * request.devices.per_node);
}

v1alpha1::Plan plan_message(const PlanRequest& request, const EvaluatedLayout& chosen,
                            const EngineProfile& profile) {
  v1alpha1::Plan message;
  const Layout& layout = chosen.layout;
  set_layout(message, layout);
  set_prediction(message, chosen);
  message.set_gradient_accumulation(static_cast<int>(micro_batches(request.training, layout)));
  message.set_source(request.fixed.all_sizes() ? reasons::kUserSpecified : reasons::kHeuristicSelected);
  message.set_reason(chosen.reason);
  message.set_parameters(parameter_count(request.shape));
  set_memory(message, request, layout, profile);
  message.set_usable_bytes(usable_bytes(request.devices, profile).value_or(0));
  if (chosen.time.seconds) set_speed(message, request, chosen.time);
  if (const auto error = step_time_error(request.devices, profile, request.training))
    message.set_step_time_error(*error);
  if (const auto error = memory_error(request.devices, profile, request.training))
    message.set_memory_error(*error);
  message.set_devices(request.devices.count);
  message.set_devices_per_node(request.devices.per_node);
  const auto& known = request.devices.known;
  message.set_device_product(known ? std::string(known->name) : request.devices.product);
  if (known) message.set_device_peak_flops(known->peak_flops);
  return message;
}

}  // namespace caravan::planner
