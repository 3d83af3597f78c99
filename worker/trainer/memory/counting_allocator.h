// Counts what tensors on the CPU allocate, to the byte: how much is alive and how much was at most.
// LibraryScratch leaves out what a library takes for itself.
//
// While a CountingAllocator lives it is c10's CPU allocator; every allocation is charged to a MemoryCounter,
// by default the one it was made with, within a CountTo scope (of the same thread) the one named there. Bytes
// are those asked for, without alignment; what is refused counts towards the peak as if it had been given.
// Memory may outlive the allocator, never its counter. One allocator at a time. What would not fit where the
// counter's bytes belong is refused with c10::OutOfMemoryError.
#pragma once

#include <c10/core/Allocator.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace caravan::trainer {

// Hears of every allocation, on the thread that makes it.
class GrowthListener {
 public:
  virtual ~GrowthListener() = default;
  virtual void grown() = 0;
  // Throws where there may not be so many bytes more.
  virtual void check_room_for(int64_t bytes) const = 0;
};

class MemoryCounter {
 public:
  explicit MemoryCounter(GrowthListener* listener = nullptr) : listener_(listener) {}

  int64_t live_bytes() const { return live_.load(std::memory_order_relaxed); }
  int64_t peak_bytes() const { return peak_.load(std::memory_order_relaxed); }

  void check_room_for(int64_t bytes) const;
  void add(int64_t bytes);
  void remove(int64_t bytes) { live_.fetch_sub(bytes, std::memory_order_relaxed); }
  // Towards the peak: a use that grew past its plan is known by what it would have taken.
  void count_refused(int64_t bytes);

 private:
  std::atomic<int64_t> live_ = 0;
  std::atomic<int64_t> peak_ = 0;
  GrowthListener* const listener_;
};

// What this thread allocates now is charged to: the scope's counter or `otherwise`; nullptr in a scope that
// is not counted.
MemoryCounter* charged_now(MemoryCounter& otherwise);

class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(MemoryCounter& counter);
  ~CountingAllocator() override;
  CountingAllocator(const CountingAllocator&) = delete;
  CountingAllocator& operator=(const CountingAllocator&) = delete;

  c10::DataPtr allocate(size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* destination, const void* source, size_t bytes) const override;

 private:
  MemoryCounter& counter_;
  c10::Allocator* const previous_;
};

// The same for tensors on c10's device "meta", which have sizes and no data: counts what they would allocate.
class CountingMetaAllocator final : public c10::Allocator {
 public:
  explicit CountingMetaAllocator(MemoryCounter& counter);
  ~CountingMetaAllocator() override;
  CountingMetaAllocator(const CountingMetaAllocator&) = delete;
  CountingMetaAllocator& operator=(const CountingMetaAllocator&) = delete;

  c10::DataPtr allocate(size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* destination, const void* source, size_t bytes) const override;

 private:
  MemoryCounter& counter_;
  c10::Allocator* const previous_;
};

// Charges what this thread allocates to `counter` until the scope ends.
class CountTo {
 public:
  explicit CountTo(MemoryCounter& counter);
  ~CountTo();
  CountTo(const CountTo&) = delete;
  CountTo& operator=(const CountTo&) = delete;

 private:
  MemoryCounter* const outer_;
};

// What this thread allocates until the scope ends is not counted: the buffers that LibTorch and oneDNN take
// inside matrix products and attention, whose number and size depend on the instruction set. Nor is what
// their threads allocate in a parallel loop, scope or not.
class LibraryScratch {
 public:
  LibraryScratch();
  ~LibraryScratch();
  LibraryScratch(const LibraryScratch&) = delete;
  LibraryScratch& operator=(const LibraryScratch&) = delete;

 private:
  const bool outer_;
};

}  // namespace caravan::trainer
