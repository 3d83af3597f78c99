#include "planner/search/reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/readable_bytes.h"
#include "common/readable_percent.h"
#include "planner/explain/figures.h"
#include "planner/schedule/generate.h"

namespace caravan::planner {
namespace {

const MemoryTerm& largest_term(const MemoryTerms& terms) {
  return *std::ranges::max_element(kMemoryTerms, {},
                                   [&](const MemoryTerm& term) { return terms.*term.bytes; });
}

std::string need(const PlanRequest& request, const EngineProfile& profile, const LayoutMemory& memory) {
  const auto usable = usable_bytes(request.devices, profile);
  const std::string of = usable ? fmt::format(" of {} usable", readable_bytes(*usable)) : "";
  return fmt::format("{}{}", readable_bytes(memory.peak_bytes()), of);
}

std::string splitting_in_words(const Layout& layout) {
  const std::string tensor = fmt::format("tensor parallelism over {}", layout.mesh.tensor);
  std::string pipeline = fmt::format("a pipeline of {} stages", layout.mesh.pipeline);
  if (layout.mesh.tensor == 1) return pipeline;
  return layout.mesh.pipeline == 1 ? "tensor parallelism" : tensor + " and " + pipeline;
}

int model_parallel(const Layout& layout) {
  return layout.mesh.tensor * layout.mesh.pipeline;
}

std::string sizes_in_words(const PlanRequest& request, const Layout& layout) {
  const int split = model_parallel(layout);
  const std::string replicas =
      layout.mesh.data > 1 ? fmt::format(", in {} data parallel replicas", layout.mesh.data) : "";
  if (split > 1) {
    return fmt::format("The model is split over {} devices by {}{}", split, splitting_in_words(layout),
                       replicas);
  }
  if (layout.mesh.data > 1) return "Every device holds the whole model" + replicas;
  return request.devices.gpu ? "One GPU holds the whole model" : "One process holds the whole model";
}

// The last one that the rule tried before, split no further, and that was too large, or about so.
const EvaluatedLayout* nearest_too_large(const std::vector<EvaluatedLayout>& candidates,
                                         const EvaluatedLayout& chosen) {
  const EvaluatedLayout* nearest = nullptr;
  for (const EvaluatedLayout& candidate : candidates) {
    if (&candidate == &chosen) break;
    const bool same_kind =
        candidate.layout.activation_checkpointing == chosen.layout.activation_checkpointing &&
        candidate.layout.micro_batch_size == chosen.layout.micro_batch_size &&
        model_parallel(candidate.layout) <= model_parallel(chosen.layout);
    const bool may_fit = candidate.fits && !candidate.preference.risky;
    if (same_kind && !candidate.illegality && !may_fit) nearest = &candidate;
  }
  return nearest;
}

// And the last one, split less, where rules forbid all of them.
const EvaluatedLayout* nearest_illegal(const std::vector<EvaluatedLayout>& candidates,
                                       const EvaluatedLayout& chosen) {
  const EvaluatedLayout* nearest = nullptr;
  for (const EvaluatedLayout& candidate : candidates) {
    if (&candidate == &chosen) break;
    if (model_parallel(candidate.layout) >= model_parallel(chosen.layout)) continue;
    if (!candidate.illegality) return nullptr;
    nearest = &candidate;
  }
  return nearest;
}

// candidates: as far as the search went.
std::string why_checkpointing(const PlanRequest& request, const std::vector<EvaluatedLayout>& candidates,
                              const Layout& layout) {
  if (!layout.activation_checkpointing) return "";
  if (request.fixed.checkpointing == CheckpointingPolicy::Always)
    return ", with activation checkpointing, as the job says";
  const int64_t layers = request.shape.layers;
  const bool mlp = layout.recomputed_part == RecomputedPart::Mlp;
  const std::string part =
      mlp || layout.recomputed() < layers
          ? fmt::format("{} of {} of {} layers", mlp ? " of the MLPs" : "", layout.recomputed(), layers)
          : "";
  const bool something_may_fit = std::ranges::any_of(candidates, [](const EvaluatedLayout& candidate) {
    return candidate.fits && !candidate.layout.activation_checkpointing &&
           !candidate.preference.other_schedule;
  });
  return fmt::format(", with activation checkpointing{}, without which nothing {}fits{}", part,
                     something_may_fit ? "surely " : "",
                     layout.mesh.pipeline > 1 && !request.fixed.schedule ? " or is faster" : "");
}

// With more than this chance a layout has room to spare.
constexpr double kWithEase = 0.99;

std::string with_chance(const EvaluatedLayout& layout) {
  if (layout.fit_chance.value_or(1) > kWithEase) return "";
  return fmt::format(" with a chance of {}", readable_chance(*layout.fit_chance));
}

std::string chance_if_risky(const EvaluatedLayout& layout) {
  if (!layout.fits || !layout.preference.risky) return "";
  return fmt::format(", which fits with a chance of {} only", readable_chance(*layout.fit_chance));
}

bool is_faster(const EvaluatedLayout& layout, const EvaluatedLayout& other) {
  return layout.time.seconds && *layout.time.seconds < *other.time.seconds;
}

std::string why_this_size(const PlanRequest& request, const EngineProfile& profile,
                          const std::vector<EvaluatedLayout>& candidates, const EvaluatedLayout& chosen) {
  const Layout& layout = chosen.layout;
  const std::string checkpointing = why_checkpointing(request, candidates, layout);
  const std::string need_text = need(request, profile, chosen.memory);
  if (model_parallel(layout) == 1) {
    const bool with_ease = chosen.fit_chance.value_or(1) > kWithEase;
    return fmt::format("That fits{}{} ({}){}.", with_chance(chosen), checkpointing, need_text,
                       with_ease ? ", so nothing is gained by splitting it" : "");
  }
  const EvaluatedLayout* smaller = nearest_too_large(candidates, chosen);
  const EvaluatedLayout* illegal = smaller ? nullptr : nearest_illegal(candidates, chosen);
  const std::string fit =
      fmt::format("That is the least splitting that {}{}{}: a device needs {}",
                  illegal ? "is possible" : "fits", with_chance(chosen), checkpointing, need_text);
  if (illegal)
    return fmt::format("{}. Of {}: {}.", fit, layout_label(illegal->layout), illegal->illegality->sentence);
  if (!smaller) return fit + ".";
  return fmt::format("{}, and {} would need {}{}.", fit, layout_label(smaller->layout),
                     readable_bytes(smaller->memory.peak_bytes()), chance_if_risky(*smaller));
}

// A clause about the candidate, where time does not speak against it.
std::string what_the_rule_says(const EvaluatedLayout& candidate, const EvaluatedLayout& chosen) {
  const Layout& layout = candidate.layout;
  if (candidate.preference.risky && !chosen.preference.risky)
    return fmt::format("fits with a chance of {} only", readable_chance(*candidate.fit_chance));
  if (candidate.fit_chance && candidate.preference.expected_seconds > chosen.preference.expected_seconds &&
      is_faster(candidate, chosen) && *candidate.fit_chance < *chosen.fit_chance)
    return fmt::format("fits with a chance of {}, the plan with {}", readable_chance(*candidate.fit_chance),
                       readable_chance(*chosen.fit_chance));
  if (layout.activation_checkpointing && !chosen.layout.activation_checkpointing)
    return "computes activations twice without need";
  if (differ_in_schedule_alone(layout, chosen.layout) && layout.schedule != chosen.layout.schedule) {
    if (spares_memory(layout.schedule)) return "spares memory that the plan does not need";
    return fmt::format("gains less than the {} by which predictions for two schedules may be off",
                       readable_rough_percent(kOtherScheduleGain));
  }
  const int split = model_parallel(layout);
  const int least = model_parallel(chosen.layout);
  if (split > least) return fmt::format("splits the model over {} devices where {} would do", split, least);
  if (layout.mesh.tensor > chosen.layout.mesh.tensor && split == least)
    return "prefers tensor over pipeline parallelism, which costs more traffic";
  if (layout.micro_batch_size > chosen.layout.micro_batch_size)
    return layout.mesh.pipeline > 1
               ? "has a larger micro-batch, which makes a larger bubble and needs more memory"
               : "has a larger micro-batch, which needs more memory";
  if (chosen.layout.sequence_parallel && !layout.sequence_parallel)
    return "leaves out sequence parallelism, which costs nothing";
  if (layout.zero_stage < chosen.layout.zero_stage) return "keeps all optimizer states on every replica";
  return "is predicted to be no faster";
}

const char* overruled_rule(const Layout& overruled, const Layout& chosen) {
  const bool as_split = model_parallel(overruled) == model_parallel(chosen);
  return as_split && chosen.micro_batch_size > overruled.micro_batch_size ? "one sequence in a micro-batch"
                                                                          : "least splitting";
}

std::string why_chosen(const PlanRequest& request, const EngineProfile& profile,
                       const std::vector<EvaluatedLayout>& candidates, const EvaluatedLayout& chosen,
                       const EvaluatedLayout* overruled) {
  const std::string sizes = sizes_in_words(request, chosen.layout);
  if (request.fixed.leaves_no_size_open()) {
    return fmt::format("{}, as the job says. A device needs {} at its peak{}.", sizes,
                       need(request, profile, chosen.memory),
                       why_checkpointing(request, candidates, chosen.layout));
  }
  if (overruled && !is_faster(chosen, *overruled)) {
    return fmt::format(
        "{}. A device needs {} and it fits with a chance of {}; {}, which the rule of {} would pick, "
        "fits with a chance of {} only.",
        sizes, need(request, profile, chosen.memory), readable_chance(*chosen.fit_chance),
        layout_label(overruled->layout), overruled_rule(overruled->layout, chosen.layout),
        readable_chance(*overruled->fit_chance));
  }
  if (overruled) {
    return fmt::format(
        "{}. It fits ({}) and a step is predicted to take {} less time than with {}, which the "
        "rule of {} would pick.",
        sizes, need(request, profile, chosen.memory),
        readable_rough_percent(1 - *chosen.time.seconds / *overruled->time.seconds),
        layout_label(overruled->layout), overruled_rule(overruled->layout, chosen.layout));
  }
  return fmt::format("{}. {}", sizes, why_this_size(request, profile, candidates, chosen));
}

// What another schedule than 1F1B is good for, where the search picked it: the best layout with 1F1B beside
// it.
std::string why_this_schedule(const std::vector<EvaluatedLayout>& candidates, const EvaluatedLayout& chosen) {
  if (!chosen.preference.other_schedule) return "";
  const EvaluatedLayout* usual = nullptr;
  for (const EvaluatedLayout& candidate : candidates) {
    if (!candidate.fits || candidate.preference.other_schedule || !may_be_picked(candidate.preference.tier))
      continue;
    if (usual == nullptr || candidate.preference < usual->preference) usual = &candidate;
  }
  const std::string_view name = schedule_name(chosen.layout.schedule);
  if (usual == nullptr) return fmt::format(" With {} it fits, and no layout with 1F1B does.", name);
  const double part = *chosen.time.seconds / *usual->time.seconds;
  const std::string against = differ_in_schedule_alone(chosen.layout, usual->layout)
                                  ? "1F1B"
                                  : layout_label(usual->layout) + " and 1F1B";
  if (part > 1 - kOtherScheduleGain)
    return fmt::format(" With {} it fits with a chance of {}; {} has one of {}.", name,
                       readable_chance(chosen.fit_chance.value_or(1)), against,
                       readable_chance(usual->fit_chance.value_or(1)));
  if (usual->layout.activation_checkpointing && !chosen.layout.activation_checkpointing)
    return fmt::format(
        " {} holds fewer activations than 1F1B, so that no layer is made again: a step takes {} less "
        "time than with {}.",
        name, readable_rough_percent(1 - part), layout_label(usual->layout));
  return fmt::format(" With {} the pipeline idles {} of a step; a step takes {} less time than with {}.",
                     name, readable_rough_percent(chosen.time.bubble_fraction),
                     readable_rough_percent(1 - part), against);
}

}  // namespace

std::string schedule_label(const Layout& layout) {
  switch (layout.schedule) {
    case ScheduleKind::GPipe:
    case ScheduleKind::OneFOneB:
      return "";
    case ScheduleKind::Interleaved:
      return fmt::format(" v{}", layout.virtual_stages);
    case ScheduleKind::Seq1F1B:
    case ScheduleKind::SeqZeroBubble:
      return fmt::format(" {} k{}", schedule_name(layout.schedule), layout.segment_count());
    default:
      return fmt::format(" {}", schedule_name(layout.schedule));
  }
}

std::string layout_label(const Layout& layout) {
  std::string label =
      fmt::format("TP{} PP{} DP{}", layout.mesh.tensor, layout.mesh.pipeline, layout.mesh.data);
  label += schedule_label(layout);
  if (layout.micro_batch_size > 1) label += fmt::format(" MBS{}", layout.micro_batch_size);
  if (layout.zero_stage != Layout{}.zero_stage) label += fmt::format(" ZeRO-{}", layout.zero_stage);
  if (layout.mesh.tensor > 1 && !layout.sequence_parallel) label += " without SP";
  if (layout.activation_checkpointing) label += " with checkpointing";
  if (!layout.recomputed_layers.empty())
    label += fmt::format(" of {} {}", layout.recomputed(),
                         layout.recomputed_part == RecomputedPart::Mlp ? "MLPs" : "layers");
  return label;
}

std::string shortage_reason(const PlanRequest& request, const EngineProfile& profile,
                            const EvaluatedLayout& candidate) {
  const MemoryTerms& terms = candidate.memory.terms;
  const MemoryTerm& term = largest_term(terms);
  return fmt::format("stage {} needs {}: {} {}", candidate.memory.binding_stage,
                     need(request, profile, candidate.memory), term.name, readable_bytes(terms.*term.bytes));
}

std::string slower_reason(const EvaluatedLayout& candidate, const EvaluatedLayout& chosen) {
  if (is_faster(chosen, candidate)) {
    return fmt::format("a step takes {:.2f} times as long", *candidate.time.seconds / *chosen.time.seconds);
  }
  std::string against = what_the_rule_says(candidate, chosen);
  if (!is_faster(candidate, chosen)) return against;
  return fmt::format("a step takes {} less time, but it {}",
                     readable_rough_percent(1 - *candidate.time.seconds / *chosen.time.seconds), against);
}

std::string chosen_reason(const PlanRequest& request, const EngineProfile& profile,
                          const std::vector<EvaluatedLayout>& candidates, const EvaluatedLayout& chosen,
                          const EvaluatedLayout* overruled) {
  const std::string why =
      why_chosen(request, profile, candidates, chosen, overruled) + why_this_schedule(candidates, chosen);
  const auto count = static_cast<int>(micro_batches(request.training, chosen.layout));
  const std::string note = caution(chosen.layout.schedule_of(count));
  return note.empty() ? why : fmt::format("{} {}.", why, note);
}

}  // namespace caravan::planner
