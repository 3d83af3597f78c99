#include "worker/trainer/loop/memory_shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/readable_bytes.h"

namespace caravan::trainer {
namespace {

struct Use {
  const char* name;
  int64_t MemoryBreakdown::*bytes;
};

constexpr std::array kUses = {
    Use{"parameters", &MemoryBreakdown::parameters},
    Use{"gradients", &MemoryBreakdown::gradients},
    Use{"optimizer states", &MemoryBreakdown::optimizer},
    Use{"activations", &MemoryBreakdown::activations},
    Use{"logits", &MemoryBreakdown::logits},
    Use{"workspace", &MemoryBreakdown::workspace},
    Use{"communication", &MemoryBreakdown::communication},
    Use{"checkpoint copy", &MemoryBreakdown::snapshot},
};

// Predictions are within two per cent (docs/design.md).
bool is_growth(int64_t bytes, const MemoryBreakdown& planned) {
  return bytes > planned.total() / 50;
}

std::string against(int64_t held, int64_t planned) {
  return fmt::format("{} of {} planned", readable_bytes(held), readable_bytes(planned));
}

}  // namespace

std::string describe_shortage(const MemoryBreakdown& peak, const std::optional<MemoryBreakdown>& planned,
                              const std::string& refusal) {
  if (!planned) return fmt::format("no memory beyond {}: {}", readable_bytes(peak.total()), refusal);
  const auto growth = [&](const Use& use) { return peak.*use.bytes - *planned.*use.bytes; };
  const Use& most = *std::ranges::max_element(kUses, {}, growth);
  const std::string what =
      is_growth(growth(most), *planned)
          ? fmt::format("{} grew past their plan ({})", most.name,
                        against(peak.*most.bytes, *planned.*most.bytes))
          : "no use of it grew past its plan: the device has less than the plan counts on, "
            "or others have taken of it";
  return fmt::format("no memory beyond {}; {}: {}", against(peak.total(), planned->total()), what, refusal);
}

}  // namespace caravan::trainer
