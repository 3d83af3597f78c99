#include "policy/memory_shortage.h"

#include <algorithm>
#include <cmath>

#include "caravan/v1alpha1/plan.pb.h"

namespace caravan::policy {

std::optional<v1alpha1::MemoryCorrection> correction_of(const v1alpha1::MemoryShortage& shortage,
                                                        int attempt) {
  constexpr double kPercent = 100;
  constexpr double kMost = 10'000;  // of planned bytes, which have 64 bits
  const bool is_term = v1alpha1::MemoryTerms::descriptor()->FindFieldByName(shortage.term()) != nullptr;
  if (!is_term || shortage.planned_bytes() <= 0 || shortage.used_bytes() <= shortage.planned_bytes())
    return std::nullopt;
  const double part =
      static_cast<double>(shortage.used_bytes()) / static_cast<double>(shortage.planned_bytes());
  v1alpha1::MemoryCorrection correction;
  correction.set_term(shortage.term());
  correction.set_percent(static_cast<int>(std::min(std::ceil(kPercent * part), kMost)));
  correction.set_attempt(attempt);
  return correction;
}

}  // namespace caravan::policy
