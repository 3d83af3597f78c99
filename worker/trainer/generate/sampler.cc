#include "worker/trainer/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace caravan::trainer {

Result<int64_t> Sampler::choose(std::span<const float> logits) {
  if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); }))
    return bad_input("the model gives no numbers: its weights hold NaN or infinity");
  const auto largest = std::ranges::max_element(logits);
  if (temperature_ == 0) return largest - logits.begin();
  std::vector<double> sums;
  sums.reserve(logits.size());
  double sum = 0;
  for (const float logit : logits)
    sums.push_back(sum +=
                   std::exp((static_cast<double>(logit) - static_cast<double>(*largest)) / temperature_));
  // 53 bits, as many as a double has: std::uniform_real_distribution is not the same everywhere.
  const double drawn = static_cast<double>(random_() >> 11) * 0x1p-53 * sum;
  const auto chosen = std::ranges::upper_bound(sums, drawn);
  return std::min<int64_t>(chosen - sums.begin(), std::ssize(sums) - 1);
}

}  // namespace caravan::trainer
