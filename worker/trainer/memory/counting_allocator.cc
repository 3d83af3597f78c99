#include "worker/trainer/memory/counting_allocator.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/ParallelGuard.h>

#include <memory>

namespace caravan::trainer {
namespace {

constexpr uint8_t kPriority = 100;  // above every allocator that torch registers itself

// Stands before each block and keeps its alignment.
struct alignas(64) Header {
  MemoryCounter* charged;  // null: nobody
  int64_t bytes;
};

thread_local MemoryCounter* scope_counter = nullptr;
thread_local bool is_scratch = false;

Header* header_of(void* data) {
  return static_cast<Header*>(data) - 1;
}

// With room for a header. counter: null where it is nobody's.
void* take(std::size_t bytes, MemoryCounter* counter) {
  try {
    if (counter != nullptr) counter->check_room_for(static_cast<int64_t>(bytes));
    return c10::alloc_cpu(sizeof(Header) + bytes);
  } catch (...) {
    if (counter != nullptr) counter->count_refused(static_cast<int64_t>(bytes));
    throw;
  }
}

void release(void* data) {
  if (data == nullptr) return;
  Header* header = header_of(data);
  if (header->charged != nullptr) header->charged->remove(header->bytes);
  c10::free_cpu(header);
}

// Of a tensor without data.
struct Claim {
  MemoryCounter& charged;
  int64_t bytes;
};

void release_claim(void* claim) {
  const std::unique_ptr<Claim> ended(static_cast<Claim*>(claim));
  ended->charged.remove(ended->bytes);
}

}  // namespace

void MemoryCounter::check_room_for(int64_t bytes) const {
  if (listener_ != nullptr) listener_->check_room_for(bytes);
}

void MemoryCounter::add(int64_t bytes) {
  const int64_t live = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  int64_t peak = peak_bytes();
  while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  if (listener_ != nullptr) listener_->grown();
}

void MemoryCounter::count_refused(int64_t bytes) {
  add(bytes);
  remove(bytes);
}

MemoryCounter* charged_now(MemoryCounter& otherwise) {
  if (is_scratch) return nullptr;
  return scope_counter != nullptr ? scope_counter : &otherwise;
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
  // Our kernels make no tensors in their parallel loops, so what is made in one is the library's own.
  const bool is_ours = !is_scratch && !c10::ParallelGuard::is_enabled();
  MemoryCounter* const charged = is_ours ? &counter : nullptr;
  auto* header = static_cast<Header*>(take(bytes, charged));
  *header = {.charged = charged, .bytes = static_cast<int64_t>(bytes)};
  if (charged != nullptr) charged->add(header->bytes);
  void* data = header + 1;
  return {data, data, &release, cpu};
}

c10::DeleterFnPtr CountingAllocator::raw_deleter() const {
  return &release;
}

void CountingAllocator::copy_data(void* destination, const void* source, size_t bytes) const {
  default_copy_data(destination, source, bytes);
}

CountingMetaAllocator::CountingMetaAllocator(MemoryCounter& counter)
    : counter_(counter), previous_(c10::GetAllocator(c10::DeviceType::Meta)) {
  c10::SetAllocator(c10::DeviceType::Meta, this, kPriority);
}

CountingMetaAllocator::~CountingMetaAllocator() {
  c10::SetAllocator(c10::DeviceType::Meta, previous_, kPriority);
}

c10::DataPtr CountingMetaAllocator::allocate(size_t bytes) {
  MemoryCounter& counter = scope_counter != nullptr ? *scope_counter : counter_;
  auto claim = std::make_unique<Claim>(Claim{.charged = counter, .bytes = static_cast<int64_t>(bytes)});
  counter.add(claim->bytes);
  return {nullptr, claim.release(), &release_claim, c10::Device(c10::DeviceType::Meta)};
}

c10::DeleterFnPtr CountingMetaAllocator::raw_deleter() const {
  return &release_claim;
}

void CountingMetaAllocator::copy_data(void* /*destination*/, const void* /*source*/, size_t /*bytes*/) const {
}

CountTo::CountTo(MemoryCounter& counter) : outer_(scope_counter) {
  scope_counter = &counter;
}
CountTo::~CountTo() {
  scope_counter = outer_;
}

LibraryScratch::LibraryScratch() : outer_(is_scratch) {
  is_scratch = true;
}
LibraryScratch::~LibraryScratch() {
  is_scratch = outer_;
}

}  // namespace caravan::trainer
