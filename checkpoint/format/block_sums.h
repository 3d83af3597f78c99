// The sums of a file in blocks of equal length: what a reader of some bytes verifies without the others.
//
// Several ranks write one file, and a block may hold bytes of many of them. Each adds the shares of the bytes
// it wrote, when it writes them and from memory, so that a sum tells of everything that happens to the bytes
// afterwards; shares of all ranks join to the sums. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace caravan::checkpoint {

// A reader reads no less than that, and 1 TB of states have 2 MB of sums.
inline constexpr int64_t kBlockBytes = int64_t{4} << 20;

class BlockShares {
 public:
  BlockShares(int64_t file_length, int64_t block_bytes);

  // Bytes of the file from `offset`; nobody else adds any of them.
  void add(int64_t offset, std::span<const std::byte> bytes);
  // For whoever joins them: the runs of blocks that they have a part in, with a space between two. One is the
  // number of its first block, a colon, and the shares as in sums_text.
  std::string text() const;
  // Of another rank, for the same file. False where that has no such blocks, or it is no such text.
  bool join(std::string_view text);

  // When everybody's shares are in.
  std::vector<uint32_t> sums() const;

 private:
  bool join_run(std::string_view run);

  int64_t file_length_;
  int64_t block_bytes_;
  std::vector<uint32_t> shares_;
};

int64_t block_count(int64_t file_length, int64_t block_bytes);
// The last block may be short.
int64_t block_length(int64_t file_length, int64_t block_bytes, int64_t block);

// Of the whole file.
uint32_t file_sum(int64_t file_length, int64_t block_bytes, std::span<const uint32_t> sums);

// Eight hexadecimal digits each, in a row.
std::string sums_text(std::span<const uint32_t> sums);
Result<std::vector<uint32_t>> parse_sums(std::string_view text);

}  // namespace caravan::checkpoint
