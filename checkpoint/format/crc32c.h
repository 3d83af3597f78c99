// CRC-32C (Castagnoli; RFC 3720, appendix B.4), and its arithmetic: the sum of bytes that several ranks wrote
// follows from what each knows of its own, without anybody reading them again.
//
// The sum is linear over the bits of a message of given length. Of a message of zeros with some bytes in
// place a share is computed from these bytes and from how many follow; all shares of disjoint bytes and
// crc32c_of_zeros of the length, joined by exclusive or, are the sum of the whole message. Uses the
// processor's instruction where there is one. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace caravan::checkpoint {

uint32_t crc32c(std::span<const std::byte> bytes);
uint32_t crc32c_of_zeros(int64_t length);

// Of bytes after which `bytes_after` more of the message come.
uint32_t crc32c_share(std::span<const std::byte> bytes, int64_t bytes_after);

// Of the first message and the second behind it.
uint32_t crc32c_joined(uint32_t first, uint32_t second, int64_t second_length);

}  // namespace caravan::checkpoint
