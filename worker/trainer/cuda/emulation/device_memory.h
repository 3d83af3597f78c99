// The memory of the emulated device, and what a block did to it.
//
// On a device blocks run in no order, and what one writes another may or may not see. The emulation runs one
// after the other, so a kernel whose blocks meet in memory could look right. `Isolation` gives each block the
// memory as it was before the launch, and refuses two that change the same byte: what is right then is right
// in any order.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace caravan::cuda::emulation {

using Bytes = std::vector<unsigned char>;

class DeviceMemory {
 public:
  // A heap block of exactly this size, so that AddressSanitizer sees the first byte past its end. Filled with
  // NaN.
  void* allocate(std::size_t bytes);
  void free(void* start);

  const std::map<unsigned char*, std::size_t>& allocations() const { return allocations_; }

 private:
  std::map<unsigned char*, std::size_t> allocations_;  // first byte and size
};

class Isolation {
 public:
  explicit Isolation(const DeviceMemory& memory);

  // Notes what the block that just ran has changed, and undoes it.
  void end_block(unsigned block);
  // Lets the memory be what all blocks together have made of it.
  void end_launch();

 private:
  struct Array {
    unsigned char* start;
    Bytes before, after;
    std::vector<int> owners;  // the block that changed each byte, or kNobody
  };

  static void take_changes(Array& array, std::size_t begin, std::size_t end, unsigned block);

  std::vector<Array> arrays_;
};

}  // namespace caravan::cuda::emulation
