#include "worker/trainer/memory/counting_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

namespace caravan::trainer {
namespace {

constexpr uint8_t kPriority = 100;  // above every allocator that torch registers itself

// Stands before each block and keeps its alignment.
struct alignas(64) Header {
  MemoryCounter* counter;
  int64_t bytes;
};

thread_local MemoryCounter* scope_counter = nullptr;

void release(void* data) {
  if (data == nullptr) return;
  Header* header = static_cast<Header*>(data) - 1;
  header->counter->remove(header->bytes);
  c10::free_cpu(header);
}

}  // namespace

void MemoryCounter::add(int64_t bytes) {
  const int64_t live = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = peak_bytes();
  while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  if (listener_ != nullptr) listener_->grown();
}

CountingAllocator::CountingAllocator(MemoryCounter& counter)
    : counter_(counter), previous_(c10::GetCPUAllocator()) {
  c10::SetCPUAllocator(this, kPriority);
}

CountingAllocator::~CountingAllocator() {
  c10::SetCPUAllocator(previous_, kPriority);
}

c10::DataPtr CountingAllocator::allocate(size_t bytes) {
  const c10::Device cpu(c10::DeviceType::CPU);
  if (bytes == 0) return {nullptr, nullptr, &release, cpu};
  MemoryCounter& counter = scope_counter != nullptr ? *scope_counter : counter_;
  auto* header = static_cast<Header*>(c10::alloc_cpu(sizeof(Header) + bytes));
  *header = {.counter = &counter, .bytes = static_cast<int64_t>(bytes)};
  counter.add(header->bytes);
  void* data = header + 1;
  return {data, data, &release, cpu};
}

c10::DeleterFnPtr CountingAllocator::raw_deleter() const {
  return &release;
}

void CountingAllocator::copy_data(void* destination, const void* source, size_t bytes) const {
  default_copy_data(destination, source, bytes);
}

CountTo::CountTo(MemoryCounter& counter) : outer_(scope_counter) {
  scope_counter = &counter;
}
CountTo::~CountTo() {
  scope_counter = outer_;
}

}  // namespace caravan::trainer
