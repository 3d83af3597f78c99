#include "worker/trainer/device/testing/opened_gpu.h"

#include "worker/trainer/device/open_backend.h"
#include "worker/trainer/device/testing/gpu.h"

namespace caravan {
namespace trainer {
namespace {

using Opened = Result<std::unique_ptr<DeviceBackend>>;

Opened open_with(Precision precision) {
  TrainerOptions options;
  options.device = DeviceKind::Gpu;
  options.precision = precision;
  options.model.heads = kernels::gpu::kTestedAttention.heads;
  options.model.kv_heads = kernels::gpu::kTestedAttention.kv_heads;
  options.model.head_dim = kernels::gpu::kTestedAttention.head_dim;
  return open_backend(options);
}

const Opened fp32_gpu = open_with(Precision::FP32);
const Opened bf16_gpu = open_with(Precision::BF16);

}  // namespace

const Opened& opened_gpu(at::ScalarType storage) {
  return storage == at::kBFloat16 ? bf16_gpu : fp32_gpu;
}

}  // namespace trainer

namespace kernels::gpu {
namespace {

TestedGpu tested(const Result<std::unique_ptr<trainer::DeviceBackend>>& opened) {
  if (!opened) return {.device = at::kCUDA, .kernels = nullptr, .missing = opened.error().message};
  return {.device = (*opened)->device(), .kernels = &(*opened)->kernels(), .missing = {}};
}

}  // namespace

const char* const kTestedGpu = "Gpu";

const TestedGpu& tested_gpu(at::ScalarType storage) {
  static const TestedGpu fp32 = tested(trainer::opened_gpu(at::kFloat));
  static const TestedGpu bf16 = tested(trainer::opened_gpu(at::kBFloat16));
  return storage == at::kBFloat16 ? bf16 : fp32;
}

}  // namespace kernels::gpu
}  // namespace caravan
