// Where the kernels' tests run: the same tests on the emulation and on a device, chosen by what is linked.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace caravan::cuda::testing {

// Why no kernel can run on this machine, where none can.
std::optional<std::string> missing_device();

void* device_allocate(std::size_t bytes);
void device_free(void* start);
void copy_to_device(void* to, const void* from, std::size_t bytes);
// After all that was launched before has ended; throws where a kernel failed.
void copy_from_device(void* to, const void* from, std::size_t bytes);

// Orders in which threads and blocks can be made to run, from 0; a device has its own, so that they are
// repetitions.
int thread_orders();
void set_thread_order(int order);

}  // namespace caravan::cuda::testing
