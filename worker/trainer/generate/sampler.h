// Chooses the next token from logits. Pure but for the numbers that it draws: the same seed and logits give
// the same tokens on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "common/result.h"

namespace caravan::trainer {

class Sampler {
 public:
  // temperature 0: always the token with the largest logit, of equal ones the first. Above: by
  // softmax(logits / temperature).
  Sampler(double temperature, uint64_t seed) : temperature_(temperature), random_(seed) {}

  // Fails on logits that are no numbers (bad input): whatever made them, no token follows from them.
  Result<int64_t> choose(std::span<const float> logits);

 private:
  double temperature_;
  std::mt19937_64 random_;
};

}  // namespace caravan::trainer
