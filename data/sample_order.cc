#include "data/sample_order.h"

#include <array>
#include <bit>
#include <cassert>

namespace caravan::data {
namespace {

constexpr int kRounds = 8;
using RoundKeys = std::array<uint64_t, kRounds>;

// Finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
// 2014).
constexpr uint64_t mix(uint64_t z) {
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

RoundKeys round_keys(uint64_t seed, uint64_t epoch) {
  RoundKeys keys{};
  uint64_t state = mix(mix(seed) ^ epoch);
  for (uint64_t& key : keys) key = state = mix(state);
  return keys;
}

// A balanced Feistel network is a bijection of [0, 2^(2·half_bits)), whatever its round function is.
uint64_t permute(uint64_t value, int half_bits, const RoundKeys& keys) {
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = value >> half_bits;
  uint64_t right = value & mask;
  for (const uint64_t key : keys) {
    const uint64_t next = left ^ (mix(right ^ key) & mask);
    left = right;
    right = next;
  }
  return (left << half_bits) | right;
}

}  // namespace

SampleOrder::SampleOrder(int64_t samples, uint64_t seed)
    : samples_(static_cast<uint64_t>(samples)),
      seed_(seed),
      half_bits_((static_cast<int>(std::bit_width(samples_ - 1)) + 1) / 2) {
  assert(samples >= 1);
}

// Cycle walking (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002): what falls outside [0,
// samples) is permuted again, which keeps the map a bijection. The network's domain is less than four times
// too large, so a few turns do.
int64_t SampleOrder::sample_at(int64_t position) const {
  assert(position >= 0);
  const auto p = static_cast<uint64_t>(position);
  const RoundKeys keys = round_keys(seed_, p / samples_);
  uint64_t value = p % samples_;
  do {
    value = permute(value, half_bits_, keys);
  } while (value >= samples_);
  return static_cast<int64_t>(value);
}

}  // namespace caravan::data
