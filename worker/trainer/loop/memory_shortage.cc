#include "worker/trainer/loop/memory_shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "common/readable_bytes.h"

namespace caravan::trainer {
namespace {

using planner::MemoryTerm;
using planner::MemoryTerms;

constexpr std::string_view kOverhead = "overhead";

struct Growth {
  std::string_view term;
  int64_t planned = 0;
  int64_t used = 0;

  int64_t bytes() const { return used - planned; }
};

// Predictions are within two per cent (docs/design.md).
bool is_beyond_prediction(const Growth& growth, const MemoryTerms& planned) {
  return growth.bytes() > planned.of_tensors() / 50;
}

// Overhead, of which a peak has none, is never what grew.
Growth largest_growth(const MemoryTerms& peak, const MemoryTerms& planned) {
  const auto growth = [&](const MemoryTerm& term) { return peak.*term.bytes - planned.*term.bytes; };
  const MemoryTerm& most = *std::ranges::max_element(planner::kMemoryTerms, {}, growth);
  return {.term = most.name, .planned = planned.*most.bytes, .used = peak.*most.bytes};
}

// All that tensors did not get: of the device, or of the plan where the device has less than that.
Growth growth_of_overhead(const RefusedMemory& memory, const MemoryTerms& planned) {
  return {.term = kOverhead,
          .planned = planned.overhead,
          .used = std::max(memory.device_bytes, planned.total()) - memory.peak.of_tensors()};
}

std::optional<Growth> find_growth(const RefusedMemory& memory) {
  if (!memory.planned) return std::nullopt;
  const MemoryTerms& planned = *memory.planned;
  const Growth use = largest_growth(memory.peak, planned);
  if (is_beyond_prediction(use, planned)) return use;
  if (memory.device_bytes > 0) {
    const Growth overhead = growth_of_overhead(memory, planned);
    if (overhead.bytes() > 0) return overhead;
  }
  return use.bytes() > 0 ? std::optional(use) : std::nullopt;
}

std::string_view readable_term(std::string_view term) {
  if (term == "optimizer") return "optimizer states";
  return term == "snapshot" ? "checkpoint copy" : term;
}

std::string against(int64_t held, int64_t planned) {
  return fmt::format("{} of {} planned", readable_bytes(held), readable_bytes(planned));
}

std::string words_of(const std::optional<Growth>& growth) {
  if (!growth) {
    return "no use of it grew past its plan: the machine has less than the plan counts on, or others have "
           "taken of it";
  }
  const std::string bytes = against(growth->used, growth->planned);
  if (growth->term != kOverhead)
    return fmt::format("{} grew past their plan ({})", readable_term(growth->term), bytes);
  return fmt::format(
      "no use of it grew past its plan: the rest of the device ({}) has gone to holes between "
      "tensors, to libraries or to others, or the device has less than the plan counts on",
      bytes);
}

}  // namespace

std::optional<ShortageRecord> find_shortage(const RefusedMemory& memory) {
  const std::optional<Growth> growth = find_growth(memory);
  if (!growth) return std::nullopt;
  return ShortageRecord{
      .term = std::string(growth->term), .planned_bytes = growth->planned, .used_bytes = growth->used};
}

std::string describe_shortage(const RefusedMemory& memory, const std::string& refusal) {
  const int64_t held = memory.peak.of_tensors();
  if (!memory.planned) return fmt::format("no memory for {}: {}", readable_bytes(held), refusal);
  return fmt::format("no memory for {}; {}: {}", against(held, memory.planned->of_tensors()),
                     words_of(find_growth(memory)), refusal);
}

}  // namespace caravan::trainer
