#include "worker/trainer/cuda/emulation/device_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "worker/trainer/cuda/emulation/fault.h"

namespace caravan::cuda::emulation {
namespace {

constexpr int kNanByte = 0xff;
constexpr int kNobody = -1;

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes) {
  auto* const start = static_cast<unsigned char*>(std::malloc(bytes));
  if (start == nullptr) throw std::bad_alloc();
  std::memset(start, kNanByte, bytes);
  allocations_.emplace(start, bytes);
  return start;
}

void DeviceMemory::free(void* start) {
  if (allocations_.erase(static_cast<unsigned char*>(start)) == 0)
    throw FaultInKernel("memory is freed that is none of the device's");
  std::free(start);
}

Isolation::Isolation(const DeviceMemory& memory) {
  for (const auto& [start, bytes] : memory.allocations()) {
    const Bytes now(start, start + bytes);
    arrays_.push_back(
        {.start = start, .before = now, .after = now, .owners = std::vector<int>(bytes, kNobody)});
  }
}

// Most blocks leave most of the memory alone, so pieces are compared before bytes are.
void Isolation::end_block(unsigned block) {
  constexpr std::size_t kPiece = 1024;
  for (Array& array : arrays_) {
    for (std::size_t begin = 0; begin < array.before.size(); begin += kPiece) {
      const std::size_t end = std::min(begin + kPiece, array.before.size());
      if (std::memcmp(array.start + begin, array.before.data() + begin, end - begin) != 0)
        take_changes(array, begin, end, block);
    }
  }
}

void Isolation::take_changes(Array& array, std::size_t begin, std::size_t end, unsigned block) {
  for (std::size_t i = begin; i < end; ++i) {
    if (array.start[i] == array.before[i]) continue;
    int& owner = array.owners[i];
    if (owner != kNobody)
      throw FaultInKernel("blocks " + std::to_string(owner) + " and " + std::to_string(block) +
                          " both write byte " + std::to_string(i) + " of an array of " +
                          std::to_string(array.before.size()));
    owner = static_cast<int>(block);
    array.after[i] = array.start[i];
    array.start[i] = array.before[i];
  }
}

void Isolation::end_launch() {
  for (const Array& array : arrays_) std::ranges::copy(array.after, array.start);
}

}  // namespace caravan::cuda::emulation
