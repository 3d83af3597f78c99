#include "worker/trainer/kernels/kernel_table.h"

#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>

#include "worker/trainer/kernels/cpu_kernels.h"

namespace caravan::kernels {
namespace {

using TablePointer = std::atomic<const KernelTable*>;

// By type of device, in LibTorch's order.
TablePointer& table_of(c10::DeviceType type) {
  static std::array<TablePointer, c10::COMPILE_TIME_MAX_DEVICE_TYPES> tables = {&cpu_kernels()};
  static_assert(static_cast<int>(c10::DeviceType::CPU) == 0);
  return tables[static_cast<std::size_t>(type)];
}

at::Tensor zeros_on_host(int64_t elements, at::ScalarType type) {
  return at::zeros({elements}, type);
}

}  // namespace

const KernelTable& cpu_kernels() {
  static constexpr KernelTable kTable{.name = "CPU",
                                      .rms_norm = cpu::rms_norm,
                                      .rms_norm_apply = cpu::rms_norm_apply,
                                      .rms_norm_backward = cpu::rms_norm_backward,
                                      .rope_apply = cpu::rope_apply,
                                      .swiglu_forward = cpu::swiglu_forward,
                                      .swiglu_backward = cpu::swiglu_backward,
                                      .attention_forward = cpu::attention_forward,
                                      .attention_backward = cpu::attention_backward,
                                      .product = cpu::product,
                                      .add_weight_gradient = cpu::add_weight_gradient,
                                      .cross_entropy_maxima = cpu::cross_entropy_maxima,
                                      .cross_entropy_sums = cpu::cross_entropy_sums,
                                      .add_cross_entropy_loss = cpu::add_cross_entropy_loss,
                                      .cross_entropy_gradient = cpu::cross_entropy_gradient,
                                      .embedding_forward = cpu::embedding_forward,
                                      .embedding_backward = cpu::embedding_backward,
                                      .adamw = cpu::adamw,
                                      .adamw_values = cpu::adamw_values,
                                      .add_sum_of_squares = cpu::add_sum_of_squares,
                                      .fill_normal = cpu::fill_normal,
                                      .sum_of_bits = cpu::sum_of_bits,
                                      .zeros_on_host = zeros_on_host};
  return kTable;
}

const KernelTable& kernels_of(const at::Tensor& tensor) {
  const c10::DeviceType type = tensor.device().type();
  const KernelTable* const table = table_of(type).load(std::memory_order_acquire);
  TORCH_CHECK(table != nullptr, "no kernels were given for tensors on ", c10::DeviceTypeName(type));
  return *table;
}

UseKernels::UseKernels(c10::DeviceType type, const KernelTable& table)
    : type_(type), before_(table_of(type).exchange(&table)) {}

UseKernels::~UseKernels() {
  table_of(type_) = before_;
}

}  // namespace caravan::kernels
