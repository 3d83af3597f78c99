#include "checkpoint/format/block_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "checkpoint/format/crc32c.h"

namespace caravan::checkpoint {
namespace {

using ::testing::MatchesRegex;

// A thousand blocks and a short one.
constexpr int64_t kBytesOfABlock = 512;
constexpr int64_t kBytesOfAFile = 1000 * kBytesOfABlock + 7;

BlockShares no_shares() {
  return BlockShares(kBytesOfAFile, kBytesOfABlock);
}

TEST(BlockShares, AreToldOfBlocksThatTheyHaveAPartIn) {
  BlockShares shares = no_shares();
  EXPECT_EQ(shares.text(), "");
  const std::vector<std::byte> bytes(2 * kBytesOfABlock, std::byte{1});
  shares.add(17 * kBytesOfABlock, bytes);
  EXPECT_THAT(shares.text(), MatchesRegex("17:[0-9a-f]{16}"));
  shares.add(kBytesOfAFile - 1, std::span(bytes).first(1));
  EXPECT_THAT(shares.text(), MatchesRegex("17:[0-9a-f]{16} 1000:[0-9a-f]{8}"));
}

TEST(BlockShares, OfAllRanksMakeTheSumOfTheFile) {
  std::vector<std::byte> file(kBytesOfAFile);
  for (std::size_t i = 0; i < file.size(); ++i) file[i] = static_cast<std::byte>(i * 2'654'435'761U >> 11);
  BlockShares all = no_shares();
  const std::size_t cuts[] = {0, 2563, 2660, 100'000, file.size()};
  for (std::size_t rank = 0; rank + 1 < std::size(cuts); ++rank) {
    BlockShares own = no_shares();
    own.add(static_cast<int64_t>(cuts[rank]),
            std::span(file).subspan(cuts[rank], cuts[rank + 1] - cuts[rank]));
    EXPECT_TRUE(all.join(own.text())) << "rank " << rank;
  }
  EXPECT_EQ(file_sum(kBytesOfAFile, kBytesOfABlock, all.sums()), crc32c(file));
}

TEST(BlockShares, AreNotTakenFromWhatIsNoneOfTheFile) {
  for (const char* text : {"x", "5", "0a1b2c3d", "5:0a1b2c3", "5 :0a1b2c3d", ":0a1b2c3d", "-1:0a1b2c3d",
                           "1001:0a1b2c3d", "1000:0a1b2c3d0a1b2c3d", "18446744073709551615:0a1b2c3d",
                           "18446744073709551616:0a1b2c3d", "1:0a1b2c3d  2:0a1b2c3d"})
    EXPECT_FALSE(no_shares().join(text)) << text;
}

}  // namespace
}  // namespace caravan::checkpoint
