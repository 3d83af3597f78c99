#include "checkpoint/format/crc32c.h"

#include <array>
#include <cstring>

namespace caravan::checkpoint {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // reversed: bit 31 is the coefficient of x^0
constexpr uint32_t kOnes = 0xFFFFFFFF;

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    table[byte] = value;
  }
  return table;
}();

// a · b modulo the polynomial.
constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (uint32_t bit = 0x80000000; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) sum ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return sum;
}

// x^(8 · 2^i).
constexpr std::array<uint32_t, 63> kPowers = [] {
  std::array<uint32_t, 63> powers{};
  powers[0] = 0x00800000;
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = product(powers[i - 1], powers[i - 1]);
  return powers;
}();

// The state after that many bytes of zeros.
uint32_t past_zeros(uint32_t state, int64_t bytes) {
  for (std::size_t i = 0; bytes > 0; ++i, bytes >>= 1)
    if ((bytes & 1) != 0) state = product(kPowers[i], state);
  return state;
}

uint32_t advance_by_table(uint32_t state, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes)
    state = (state >> 8) ^ kTable[(state ^ static_cast<uint32_t>(byte)) & 0xFF];
  return state;
}

#if defined(__x86_64__)
// The instruction takes three cycles, and one may begin in each: three parts of a stripe are summed up at the
// same time and joined. Longer ones would save little of the joining, and leave more at the end.
constexpr std::size_t kPart = 8192;
constexpr std::size_t kPartPower = 13;
static_assert(kPart == std::size_t{1} << kPartPower);

uint64_t word_at(const std::byte* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

__attribute__((target("sse4.2"))) uint32_t advance_by_stripe(uint32_t state, const std::byte* bytes) {
  uint64_t first = state;
  uint64_t second = 0;
  uint64_t third = 0;
  for (const std::byte* const end = bytes + kPart; bytes != end; bytes += sizeof(uint64_t)) {
    first = __builtin_ia32_crc32di(first, word_at(bytes));
    second = __builtin_ia32_crc32di(second, word_at(bytes + kPart));
    third = __builtin_ia32_crc32di(third, word_at(bytes + 2 * kPart));
  }
  const uint32_t joined =
      product(kPowers[kPartPower], static_cast<uint32_t>(first)) ^ static_cast<uint32_t>(second);
  return product(kPowers[kPartPower], joined) ^ static_cast<uint32_t>(third);
}

__attribute__((target("sse4.2"))) uint32_t advance_by_instruction(uint32_t state,
                                                                  std::span<const std::byte> bytes) {
  for (; bytes.size() >= 3 * kPart; bytes = bytes.subspan(3 * kPart))
    state = advance_by_stripe(state, bytes.data());
  uint64_t wide = state;
  for (; bytes.size() >= sizeof(uint64_t); bytes = bytes.subspan(sizeof(uint64_t)))
    wide = __builtin_ia32_crc32di(wide, word_at(bytes.data()));
  state = static_cast<uint32_t>(wide);
  for (const std::byte byte : bytes) state = __builtin_ia32_crc32qi(state, static_cast<uint8_t>(byte));
  return state;
}

uint32_t advance(uint32_t state, std::span<const std::byte> bytes) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  return has_instruction ? advance_by_instruction(state, bytes) : advance_by_table(state, bytes);
}
#else
uint32_t advance(uint32_t state, std::span<const std::byte> bytes) {
  return advance_by_table(state, bytes);
}
#endif

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes) {
  return ~advance(kOnes, bytes);
}

uint32_t crc32c_of_zeros(int64_t length) {
  return ~past_zeros(kOnes, length);
}

uint32_t crc32c_share(std::span<const std::byte> bytes, int64_t bytes_after) {
  return past_zeros(advance(0, bytes), bytes_after);
}

uint32_t crc32c_joined(uint32_t first, uint32_t second, int64_t second_length) {
  return past_zeros(first, second_length) ^ second;
}

}  // namespace caravan::checkpoint
