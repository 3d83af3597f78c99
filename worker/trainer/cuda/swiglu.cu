#include <cmath>

#include "worker/trainer/cuda/packs.h"
#include "worker/trainer/cuda/swiglu.h"

namespace caravan::cuda {
namespace {

constexpr int kThreads = 256;

__device__ float sigmoid(float x) {
  return 1.0F / (1.0F + expf(-x));
}

template <typename T>
__global__ void __launch_bounds__(kThreads) swiglu_forward_kernel(SwigluForward a, std::int64_t single) {
  const T* const gates = static_cast<const T*>(a.gate_up) + std::int64_t{blockIdx.x} * 2 * a.columns;
  const T* const ups = gates + a.columns;
  T* const output = static_cast<T*>(a.output) + std::int64_t{blockIdx.x} * a.columns;
  for_packs<kPackOf<T>>(worker_of_block(), single, a.columns, [&]<int kWidth>(std::int64_t i) {
    const Values<kWidth> gate = load<kWidth>(gates + i);
    Values<kWidth> values = load<kWidth>(ups + i);
    for (int k = 0; k < kWidth; ++k) values.item[k] *= gate.item[k] * sigmoid(gate.item[k]);
    store<kWidth>(output + i, values);
  });
}

// With s = sigmoid(gate):  dgate = dy · up · (s + gate · s · (1 − s)),  dup = dy · gate · s.
template <typename T>
__global__ void __launch_bounds__(kThreads) swiglu_backward_kernel(SwigluBackward a, std::int64_t single) {
  T* const gates = static_cast<T*>(a.gate_up) + std::int64_t{blockIdx.x} * 2 * a.columns;
  T* const ups = gates + a.columns;
  T* const gradients = static_cast<T*>(a.gradient) + std::int64_t{blockIdx.x} * a.columns;
  for_packs<kPackOf<T>>(worker_of_block(), single, a.columns, [&]<int kWidth>(std::int64_t i) {
    Values<kWidth> gate = load<kWidth>(gates + i);
    Values<kWidth> up = load<kWidth>(ups + i);
    Values<kWidth> gradient = load<kWidth>(gradients + i);
    for (int k = 0; k < kWidth; ++k) {
      const float s = sigmoid(gate.item[k]);
      const float silu = gate.item[k] * s;
      const float output = silu * up.item[k];
      gate.item[k] = gradient.item[k] * up.item[k] * (s + silu * (1.0F - s));
      up.item[k] = gradient.item[k] * silu;
      gradient.item[k] = output;
    }
    store<kWidth>(gates + i, gate);
    store<kWidth>(ups + i, up);
    store<kWidth>(gradients + i, gradient);
  });
}

}  // namespace

LaunchResult swiglu_forward(const SwigluForward& a, Stream stream) {
  return for_storage(a.storage, [&]<typename T>() {
    constexpr int kWidth = kPackOf<T>;
    const std::int64_t single =
        single_values_of_rows<kWidth>(a.columns, static_cast<const T*>(a.gate_up), static_cast<T*>(a.output));
    return launch(swiglu_forward_kernel<T>, grid_of_rows(a.rows, a.columns, single, kWidth, kThreads), stream,
                  a, single);
  });
}

LaunchResult swiglu_backward(const SwigluBackward& a, Stream stream) {
  return for_storage(a.storage, [&]<typename T>() {
    constexpr int kWidth = kPackOf<T>;
    const std::int64_t single =
        single_values_of_rows<kWidth>(a.columns, static_cast<T*>(a.gate_up), static_cast<T*>(a.gradient));
    return launch(swiglu_backward_kernel<T>, grid_of_rows(a.rows, a.columns, single, kWidth, kThreads),
                  stream, a, single);
  });
}

}  // namespace caravan::cuda
