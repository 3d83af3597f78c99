#include "planner/search/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
  const std::string of = usable ? fmt::format(" of {} {}", readable_bytes(*usable),
                                              request.must_need_less ? "allowed" : "usable")
                                : "";
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
const EvaluatedLayout* nearest_too_large(const Pick& pick) {
  const Layout& chosen = pick.chosen.layout;
  const EvaluatedLayout* nearest = nullptr;
  for (const EvaluatedLayout* candidate : pick.beside) {
    if (candidate == &pick.chosen) break;
    const Layout& layout = candidate->layout;
    const bool same_kind = layout.activation_checkpointing == chosen.activation_checkpointing &&
                           layout.micro_batch_size == chosen.micro_batch_size &&
                           model_parallel(layout) <= model_parallel(chosen);
    const bool may_fit = candidate->fits && !candidate->preference.risky;
    if (same_kind && !candidate->illegality && !may_fit) nearest = candidate;
  }
  return nearest;
}

// And the last one, split less, where rules forbid all of them.
const EvaluatedLayout* nearest_illegal(const Pick& pick) {
  const EvaluatedLayout* nearest = nullptr;
  for (const EvaluatedLayout* candidate : pick.beside) {
    if (candidate == &pick.chosen) break;
    if (model_parallel(candidate->layout) >= model_parallel(pick.chosen.layout)) continue;
    if (!candidate->illegality) return nullptr;
    nearest = candidate;
  }
  return nearest;
}

constexpr std::string_view kAllLayers = "all layers";

std::string made_again_in_words(const PlanRequest& request, const Layout& layout) {
  const bool mlp = layout.recomputed_part == RecomputedPart::Mlp;
  if (!mlp && layout.recomputed() == request.shape.layers) return std::string(kAllLayers);
  return fmt::format("{}{} of {} layers", mlp ? "the MLPs of " : "", layout.recomputed(),
                     request.shape.layers);
}

std::string with_checkpointing(const PlanRequest& request, const Layout& layout) {
  if (!layout.activation_checkpointing) return "";
  if (request.fixed.checkpointing == CheckpointingPolicy::Always)
    return ", with activation checkpointing, as the job says";
  const std::string part = made_again_in_words(request, layout);
  return ", with activation checkpointing" + (part == kAllLayers ? "" : " of " + part);
}

std::string why_checkpointing(const PlanRequest& request, const Pick& pick) {
  const Layout& layout = pick.chosen.layout;
  const std::string with = with_checkpointing(request, layout);
  if (with.empty() || request.fixed.checkpointing == CheckpointingPolicy::Always) return with;
  const bool something_may_fit = std::ranges::any_of(pick.beside, [](const EvaluatedLayout* candidate) {
    return candidate->fits && !candidate->layout.activation_checkpointing;
  });
  return fmt::format("{}, without which nothing {}fits{}", with, something_may_fit ? "surely " : "",
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

bool follows_the_rule(const Pick& pick) {
  return pick.by_rule && differ_in_schedule_alone(pick.by_rule->layout, pick.chosen.layout);
}

std::string why_this_size(const PlanRequest& request, const EngineProfile& profile, const Pick& pick) {
  const EvaluatedLayout& chosen = pick.chosen;
  const std::string fit = with_chance(chosen) + why_checkpointing(request, pick);
  const std::string need_text = need(request, profile, chosen.memory);
  if (model_parallel(chosen.layout) == 1) {
    const bool with_ease = chosen.fit_chance.value_or(1) > kWithEase;
    return fmt::format("That fits{} ({}){}.", fit, need_text,
                       with_ease ? ", so nothing is gained by splitting it" : "");
  }
  const EvaluatedLayout* smaller = nearest_too_large(pick);
  const EvaluatedLayout* illegal = smaller ? nullptr : nearest_illegal(pick);
  const std::string with = follows_the_rule(pick) && !illegal ? with_1f1b(request, chosen.layout) : "";
  const std::string least = "That is the least splitting that ";
  const std::string what = !follows_the_rule(pick) ? "That fits"
                           : illegal               ? least + "is possible"
                                                   : least + "fits" + with;
  // The numbers are the plan's, which may have another schedule.
  const std::string text = with.empty() ? fmt::format("{}{}: a device needs {}", what, fit, need_text)
                                        : fmt::format("{}. A device needs {}{}", what, need_text,
                                                      fit.empty() ? "" : ", and it fits" + fit);
  if (illegal)
    return fmt::format("{}. Of {}: {}.", text, layout_label(illegal->layout), illegal->illegality->sentence);
  if (!smaller) return text + ".";
  const bool differs = chosen.preference.other_schedule && smaller->layout.mesh.pipeline > 1;
  return fmt::format("{}{} {}{} would need {}{}.", text, with.empty() || fit.empty() ? ", and" : ";",
                     differs ? "with 1F1B " : "", layout_label(smaller->layout),
                     readable_bytes(smaller->memory.peak_bytes()), chance_if_risky(*smaller));
}

bool surely_fits_without_checkpointing(const PlanRequest& request, const EngineProfile& profile,
                                       const Layout& layout) {
  const EvaluatedLayout keeping = evaluate_layout(request, layout.keeping_activations(), profile);
  return keeping.fits && !keeping.preference.risky;
}

// A clause about the candidate, where time does not speak against it.
std::string what_the_rule_says(const PlanRequest& request, const EngineProfile& profile,
                               const EvaluatedLayout& candidate, const EvaluatedLayout& chosen) {
  const Layout& layout = candidate.layout;
  if (candidate.preference.risky && !chosen.preference.risky)
    return fmt::format("fits with a chance of {} only", readable_chance(*candidate.fit_chance));
  if (layout.activation_checkpointing && !chosen.layout.activation_checkpointing)
    return surely_fits_without_checkpointing(request, profile, layout)
               ? "computes activations twice without need"
               : fmt::format("makes {} again, and the plan makes none", made_again_in_words(request, layout));
  if (candidate.fit_chance && candidate.preference.expected_seconds > chosen.preference.expected_seconds &&
      is_faster(candidate, chosen) && *candidate.fit_chance < *chosen.fit_chance)
    return fmt::format("fits with a chance of {}, the plan with {}", readable_chance(*candidate.fit_chance),
                       readable_chance(*chosen.fit_chance));
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
    return "leaves out sequence parallelism, which spares memory";
  if (layout.zero_stage < chosen.layout.zero_stage) return "keeps all optimizer states on every replica";
  return "is predicted to be no faster";
}

// By which the rule puts what it would take before the chosen one.
std::string overruled_rule(const Layout& by_rule, const Layout& chosen) {
  if (model_parallel(by_rule) < model_parallel(chosen)) return "the rule of least splitting";
  if (model_parallel(by_rule) > model_parallel(chosen)) return "the rule";
  if (by_rule.mesh.tensor < chosen.mesh.tensor) return "the rule of pipeline before tensor parallelism";
  if (by_rule.micro_batch_size < chosen.micro_batch_size) return "the rule of one sequence in a micro-batch";
  return "the rule";
}

// "TP1 PP16 DP4, which the rule of least splitting would pick with 1F1B"
std::string overruled_in_words(const PlanRequest& request, const Pick& pick) {
  return fmt::format("{}, which {} would pick{}", layout_label(pick.by_rule->layout),
                     overruled_rule(pick.by_rule->layout, pick.chosen.layout),
                     with_1f1b(request, pick.by_rule->layout));
}

// Than the chosen one.
std::string price_of_handicaps(const EvaluatedLayout& other, const EvaluatedLayout& chosen) {
  const char* price = "has another schedule";
  if (other.layout.micro_batch_size > chosen.layout.micro_batch_size) price = "has a larger micro-batch";
  if (model_parallel(other.layout) > model_parallel(chosen.layout)) price = "splits the model further";
  const double change = *other.time.seconds / *chosen.time.seconds - 1;
  return fmt::format("{}, and a step takes {} {}", price, readable_rough_percent(std::abs(change)),
                     change > 0 ? "more time" : "less time only");
}

// What spares memory at the cost of time, although something surely fits that does not.
std::string why_sparing(const PlanRequest& request, const EngineProfile& profile, const Pick& pick) {
  const EvaluatedLayout& chosen = pick.chosen;
  const EvaluatedLayout& other = *pick.unsparing;
  const std::string what = fmt::format("{}{}{}. It fits{} ({})", sizes_in_words(request, chosen.layout),
                                       request.fixed.leaves_no_size_open() ? ", as the job says" : "",
                                       with_checkpointing(request, chosen.layout), with_chance(chosen),
                                       need(request, profile, chosen.memory));
  const std::string best =
      fmt::format("{}, the best {}", layout_label(other.layout),
                  chosen.layout.activation_checkpointing ? "without" : "that spares no memory");
  const double gain = 1 - *chosen.time.seconds / *other.time.seconds;
  if (gain > kSparingMemoryGain)
    return fmt::format("{} and a step is predicted to take {} less time than with {}.", what,
                       readable_rough_percent(gain), best);
  const double chance = other.fit_chance.value_or(1);
  if (chance <= kWithEase && chance < chosen.fit_chance.value_or(1))
    return fmt::format("{}; {}, fits with a chance of {} only.", what, best, readable_chance(chance));
  return fmt::format("{}. {}, {}.", what, best, price_of_handicaps(other, chosen));
}

std::string why_chosen(const PlanRequest& request, const EngineProfile& profile, const Pick& pick) {
  if (pick.unsparing) return why_sparing(request, profile, pick);
  const EvaluatedLayout& chosen = pick.chosen;
  const std::string sizes = sizes_in_words(request, chosen.layout);
  const std::string need_text = need(request, profile, chosen.memory);
  if (request.fixed.leaves_no_size_open())
    return fmt::format("{}, as the job says. A device needs {} at its peak{}.", sizes, need_text,
                       why_checkpointing(request, pick));
  const EvaluatedLayout* overruled = follows_the_rule(pick) ? nullptr : pick.by_rule;
  const bool surer = overruled && chosen.fit_chance.value_or(1) > overruled->fit_chance.value_or(1);
  const double gain =
      overruled && is_faster(chosen, *overruled) ? 1 - *chosen.time.seconds / *overruled->time.seconds : 0;
  const bool chance_matters = surer && *overruled->fit_chance <= kWithEase;
  if (gain > (chance_matters ? kOtherScheduleGain : 0.0)) {
    return fmt::format("{}. It fits ({}) and a step is predicted to take {} less time than with {}.", sizes,
                       need_text, readable_rough_percent(gain), overruled_in_words(request, pick));
  }
  if (surer) {
    return fmt::format(
        "{}. A device needs {} and it fits with a chance of {}; {}, fits with a chance of {} only.", sizes,
        need_text, readable_chance(chosen.fit_chance.value_or(1)), overruled_in_words(request, pick),
        readable_chance(overruled->fit_chance.value_or(1)));
  }
  return fmt::format("{}. {}", sizes, why_this_size(request, profile, pick));
}

// Of layouts with activation checkpointing nothing is known where the search ended before them.
std::string unless_looked_at(const PlanRequest& request, const Pick& pick) {
  const bool were_looked_at = std::ranges::any_of(pick.beside, [&](const EvaluatedLayout* candidate) {
    return candidate != &pick.chosen && candidate->layout.activation_checkpointing;
  });
  const bool leaves_them_out = request.fixed.checkpointing == CheckpointingPolicy::Never;
  return were_looked_at || leaves_them_out ? "" : " without activation checkpointing";
}

// What another schedule than 1F1B is good for, where the search picked it: the best layout with 1F1B beside
// it.
std::string why_this_schedule(const PlanRequest& request, const Pick& pick) {
  const EvaluatedLayout& chosen = pick.chosen;
  if (!chosen.preference.other_schedule) return "";
  const std::string_view name = schedule_name(chosen.layout.schedule);
  const std::string idles = fmt::format(" With {} the pipeline idles {} of a step", name,
                                        readable_rough_percent(chosen.time.bubble_fraction));
  if (pick.unsparing) return idles + ".";
  const EvaluatedLayout* usual = nullptr;
  for (const EvaluatedLayout* candidate : pick.beside) {
    if (!candidate->fits || candidate == &chosen) continue;
    if (usual == nullptr || candidate->preference < usual->preference) usual = candidate;
  }
  if (usual == nullptr)
    return fmt::format(" With {} it fits, and no layout with 1F1B{} does.", name,
                       unless_looked_at(request, pick));
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
  return fmt::format("{}; a step takes {} less time than with {}.", idles, readable_rough_percent(1 - part),
                     against);
}

}  // namespace

std::string with_1f1b(const PlanRequest& request, const Layout& layout) {
  const bool is_open = request.devices.known && !request.fixed.schedule &&
                       request.fixed.virtual_stages.value_or(1) == 1 && layout.mesh.pipeline > 1;
  return is_open ? " with 1F1B" : "";
}

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

std::string slower_reason(const PlanRequest& request, const EngineProfile& profile,
                          const EvaluatedLayout& candidate, const EvaluatedLayout& chosen) {
  if (is_faster(chosen, candidate)) {
    return fmt::format("a step takes {:.2f} times as long", *candidate.time.seconds / *chosen.time.seconds);
  }
  std::string against = what_the_rule_says(request, profile, candidate, chosen);
  if (!is_faster(candidate, chosen)) return against;
  return fmt::format("a step takes {} less time, but it {}",
                     readable_rough_percent(1 - *candidate.time.seconds / *chosen.time.seconds), against);
}

std::string chosen_reason(const PlanRequest& request, const EngineProfile& profile, const Pick& pick) {
  const std::string why = why_chosen(request, profile, pick) + why_this_schedule(request, pick);
  const auto count = static_cast<int>(micro_batches(request.training, pick.chosen.layout));
  const std::string note = caution(pick.chosen.layout.schedule_of(count));
  return note.empty() ? why : fmt::format("{} {}.", why, note);
}

}  // namespace caravan::planner
