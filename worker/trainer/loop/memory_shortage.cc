#include "worker/trainer/loop/memory_shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/readable_bytes.h"

namespace caravan::trainer {
namespace {

struct Use {
  const char* term;  // as MemoryTerms calls it
  const char* name;
  int64_t MemoryBreakdown::*bytes;
};

constexpr std::array kUses = {
    Use{"parameters", "parameters", &MemoryBreakdown::parameters},
    Use{"gradients", "gradients", &MemoryBreakdown::gradients},
    Use{"optimizer", "optimizer states", &MemoryBreakdown::optimizer},
    Use{"activations", "activations", &MemoryBreakdown::activations},
    Use{"logits", "logits", &MemoryBreakdown::logits},
    Use{"workspace", "workspace", &MemoryBreakdown::workspace},
    Use{"communication", "communication", &MemoryBreakdown::communication},
    Use{"snapshot", "checkpoint copy", &MemoryBreakdown::snapshot},
};

// Predictions are within two per cent (docs/design.md).
bool is_growth(int64_t bytes, const MemoryBreakdown& planned) {
  return bytes > planned.total() / 50;
}

// Null where none grew.
const Use* find_growth(const MemoryBreakdown& peak, const MemoryBreakdown& planned) {
  const auto growth = [&](const Use& use) { return peak.*use.bytes - planned.*use.bytes; };
  const Use& most = *std::ranges::max_element(kUses, {}, growth);
  return is_growth(growth(most), planned) ? &most : nullptr;
}

std::string against(int64_t held, int64_t planned) {
  return fmt::format("{} of {} planned", readable_bytes(held), readable_bytes(planned));
}

}  // namespace

std::optional<ShortageRecord> find_shortage(const MemoryBreakdown& peak,
                                            const std::optional<MemoryBreakdown>& planned) {
  const Use* grown = planned ? find_growth(peak, *planned) : nullptr;
  if (grown == nullptr) return std::nullopt;
  return ShortageRecord{
      .term = grown->term, .planned_bytes = *planned.*grown->bytes, .used_bytes = peak.*grown->bytes};
}

std::string describe_shortage(const MemoryBreakdown& peak, const std::optional<MemoryBreakdown>& planned,
                              const std::string& refusal) {
  if (!planned) return fmt::format("no memory for {}: {}", readable_bytes(peak.total()), refusal);
  const Use* grown = find_growth(peak, *planned);
  const std::string what =
      grown != nullptr ? fmt::format("{} grew past their plan ({})", grown->name,
                                     against(peak.*grown->bytes, *planned.*grown->bytes))
                       : "no use of it grew past its plan: the device has less than the plan counts on, "
                         "or others have taken of it";
  return fmt::format("no memory for {}; {}: {}", against(peak.total(), planned->total()), what, refusal);
}

}  // namespace caravan::trainer
