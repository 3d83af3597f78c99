// Philox 4x32-10 (Salmon et al., SC11): random numbers that depend on a key and a counter only. For
// processors and for CUDA devices.
#pragma once

#include <cstdint>

namespace caravan::kernels {

inline constexpr int kPhiloxWords = 4, kPhiloxRounds = 10;
inline constexpr std::uint32_t kPhiloxFactor0 = 0xD2511F53, kPhiloxFactor2 = 0xCD9E8D57;  // of words 0 and 2
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9, kPhiloxWeyl1 = 0xBB67AE85;      // added to the key

struct RandomBlock {
  std::uint32_t word[kPhiloxWords];
};

constexpr RandomBlock philox(std::uint64_t key, std::uint64_t counter, std::uint64_t counter_high = 0) {
  RandomBlock x{{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                 static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)}};
  auto key_0 = static_cast<std::uint32_t>(key);
  auto key_1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kPhiloxFactor0} * x.word[0];
    const std::uint64_t b = std::uint64_t{kPhiloxFactor2} * x.word[2];
    x = {{static_cast<std::uint32_t>(b >> 32) ^ x.word[1] ^ key_0, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ x.word[3] ^ key_1, static_cast<std::uint32_t>(a)}};
    key_0 += kPhiloxWeyl0;
    key_1 += kPhiloxWeyl1;
  }
  return x;
}

}  // namespace caravan::kernels
