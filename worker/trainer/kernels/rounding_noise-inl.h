// Random bits for AdamW's moments (adamw.h), a vector at a time, for files that include vectors-inl.h: a word
// for each element, half of it for each moment.
#if defined(CARAVAN_ROUNDING_NOISE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef CARAVAN_ROUNDING_NOISE_INL_H
#undef CARAVAN_ROUNDING_NOISE_INL_H
#else
#define CARAVAN_ROUNDING_NOISE_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "worker/trainer/kernels/adamw.h"
#include "worker/trainer/kernels/philox.h"
#include "worker/trainer/kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace caravan::kernels::HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<Lanes<float>>;

// Both halves of the products of words.
struct Product {
  hn::Vec<Words> high, low;
};

HWY_INLINE Product product_of(hn::Vec<Words> a, hn::Vec<Words> b) {
  const hn::RepartitionToWide<Words> wide;
  const Words words;
  const auto odd_of = [&](hn::Vec<Words> v)
                          HWY_ATTR { return hn::BitCast(words, hn::ShiftRight<32>(hn::BitCast(wide, v))); };
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(odd_of(a), odd_of(b));
  return {.high = hn::OddEven(hn::BitCast(words, odd), hn::BitCast(words, hn::ShiftRight<32>(even))),
          .low = hn::OddEven(hn::BitCast(words, hn::ShiftLeft<32>(odd)), hn::BitCast(words, even))};
}

class RoundingNoise {
 public:
  // The update outlives this.
  explicit RoundingNoise(const AdamW& update) : update_(update) {}

  // Of elements i, i + 1, ... of the update's, one for each lane.
  HWY_INLINE hn::Vec<Words> operator()(int64_t i) {
    const ElementNumbers& numbers = update_.numbers;
    if (numbers.part_columns - numbers.column_of(i) >= lanes())
      return hn::LoadU(Words(), from(numbers[i], lanes()));
    uint32_t words[hn::MaxLanes(Words())];
    NumberWalk walk(numbers, i);
    for (int64_t lane = 0; lane < lanes(); ++lane) words[lane] = *from(walk.next(), 1);
    return hn::LoadU(Words(), words);
  }

 private:
  static constexpr int64_t kWords = kPhiloxWords;

  static HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(Words())); }

  // The words of numbers `number`, ... that follow each other.
  HWY_INLINE const uint32_t* from(int64_t number, int64_t count) {
    if (number < first_ || number + count > first_ + kWords * lanes()) make(number / kWords);
    return words_ + (number - first_);
  }

  // philox() of as many blocks as there are lanes (philox.h).
  HWY_INLINE void make(int64_t block) {
    const Words d;
    const auto all = [&](uint64_t value) HWY_ATTR { return hn::Set(d, static_cast<uint32_t>(value)); };
    const auto counter = static_cast<uint64_t>(block), step = static_cast<uint64_t>(update_.step);
    auto x0 = hn::Add(all(counter), hn::Iota(d, 0));
    auto x1 =
        hn::Sub(all(counter >> 32), hn::VecFromMask(d, hn::Lt(x0, all(counter))));  // minus −1 is the carry
    auto x2 = all(step), x3 = all(step >> 32);
    auto key_0 = all(update_.rounding_key), key_1 = all(update_.rounding_key >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
      const Product a = product_of(x0, all(kPhiloxFactor0)), b = product_of(x2, all(kPhiloxFactor2));
      x0 = hn::Xor(hn::Xor(b.high, x1), key_0);
      x1 = b.low;
      x2 = hn::Xor(hn::Xor(a.high, x3), key_1);
      x3 = a.low;
      key_0 = hn::Add(key_0, all(kPhiloxWeyl0));
      key_1 = hn::Add(key_1, all(kPhiloxWeyl1));
    }
    hn::StoreInterleaved4(x0, x1, x2, x3, d, words_);
    first_ = block * kWords;
  }

  const AdamW& update_;
  uint32_t words_[kWords * hn::MaxLanes(Words())] = {};
  int64_t first_ = -kWords * hn::MaxLanes(Words());  // the number of the first word: none yet
};

}  // namespace caravan::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the guard, which highway flips from one instruction set to the next
