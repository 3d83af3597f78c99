// A copy of much that nobody reads soon, made by all of the rank's threads.
//
// Plain stores read each line of memory before they replace it and leave the copy in the caches, where
// training has other things. The C library's copies do so too until one is larger than three quarters of all
// caches, which may be hundreds of megabytes; these go past the caches at any size.
#pragma once

#include <cstddef>
#include <span>

namespace caravan::kernels {

// Of the same length, and without bytes in common.
void stream_copy(std::span<std::byte> to, std::span<const std::byte> from);

}  // namespace caravan::kernels
