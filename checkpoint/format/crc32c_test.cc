#include "checkpoint/format/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

namespace caravan::checkpoint {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t size) {
  std::mt19937 random(7);
  Bytes bytes(size);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

TEST(Crc32c, IsThatOfTheStandard) {
  const auto sum = [](const Bytes& bytes) { return crc32c(bytes); };
  Bytes ascending(32);
  for (std::size_t i = 0; i < ascending.size(); ++i) ascending[i] = static_cast<std::byte>(i);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(sum(Bytes(32, std::byte{0x00})), 0x8A9136AAu);
  EXPECT_EQ(sum(Bytes(32, std::byte{0xFF})), 0x62A8AB43u);
  EXPECT_EQ(sum(ascending), 0x46DD794Eu);
  constexpr std::string_view kDigits = "123456789";
  EXPECT_EQ(crc32c(std::as_bytes(std::span(kDigits))), 0xE3069283u);
  EXPECT_EQ(sum({}), 0u);
}

// Bit by bit, as the standard has it.
uint32_t plain_crc32c(std::span<const std::byte> bytes) {
  uint32_t state = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    state ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0x82F63B78 : 0);
  }
  return ~state;
}

// Long ones are summed up in several parts at a time.
TEST(Crc32c, OfAnyLengthAndPlaceInMemoryIsThatOfItsBits) {
  const Bytes whole = random_bytes(100'000);
  for (const std::size_t length : {8191u, 8192u, 24'575u, 24'576u, 24'577u, 49'152u, 73'735u, 99'000u}) {
    for (const std::size_t begin : {0u, 1u, 7u, 64u}) {
      const auto bytes = std::span(whole).subspan(begin, length);
      EXPECT_EQ(crc32c(bytes), plain_crc32c(bytes)) << length << " bytes from " << begin;
    }
  }
}

TEST(Crc32c, OfZerosTakesNoZeros) {
  for (const int64_t length : {0, 1, 7, 32, 4096})
    EXPECT_EQ(crc32c_of_zeros(length), crc32c(Bytes(static_cast<std::size_t>(length)))) << length;
}

TEST(Crc32c, OfTwoMessagesInARowIsJoined) {
  const Bytes whole = random_bytes(1000);
  for (const std::size_t cut : {0u, 1u, 500u, 999u, 1000u}) {
    const auto first = std::span(whole).first(cut);
    const auto second = std::span(whole).subspan(cut);
    EXPECT_EQ(crc32c_joined(crc32c(first), crc32c(second), static_cast<int64_t>(second.size())),
              crc32c(whole))
        << cut;
  }
}

TEST(Crc32c, OfAMessageIsMadeOfSharesInAnyOrder) {
  const Bytes whole = random_bytes(1000);
  const std::size_t cuts[] = {0, 3, 64, 65, 700, 1000};
  uint32_t sum = crc32c_of_zeros(1000);
  for (std::size_t i = std::size(cuts) - 1; i > 0; --i) {
    const auto part = std::span(whole).subspan(cuts[i - 1], cuts[i] - cuts[i - 1]);
    sum ^= crc32c_share(part, static_cast<int64_t>(whole.size() - cuts[i]));
  }
  EXPECT_EQ(sum, crc32c(whole));
}

}  // namespace
}  // namespace caravan::checkpoint
