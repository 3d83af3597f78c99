// Random bits for AdamW's moments (adamw.h) on a processor: a word for each element, half of it for each
// moment.
#pragma once

#include <cstdint>

#include "worker/trainer/kernels/adamw.h"
#include "worker/trainer/kernels/philox.h"

namespace caravan::kernels {

class RoundingNoise {
 public:
  // The update outlives this.
  explicit RoundingNoise(const AdamW& update) : update_(update) {}

  // Of elements first, first + 1, ... of the update's.
  void fill(int64_t first, int64_t count, uint32_t* words) {
    NumberWalk numbers(update_.numbers, first);
    for (int64_t i = 0; i < count; ++i) words[i] = word(numbers.next());
  }

 private:
  static constexpr int64_t kWords = 4;  // of a block

  uint32_t word(int64_t number) {
    if (number / kWords != block_) {
      block_ = number / kWords;
      random_ =
          philox(update_.rounding_key, static_cast<uint64_t>(block_), static_cast<uint64_t>(update_.step));
    }
    return random_.word[number % kWords];
  }

  const AdamW& update_;
  int64_t block_ = -1;
  RandomBlock random_{};
};

}  // namespace caravan::kernels
