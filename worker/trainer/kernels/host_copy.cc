#include "worker/trainer/kernels/host_copy.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "worker/trainer/kernels/kernel_table.h"
#include "worker/trainer/kernels/stream_copy.h"
#include "worker/trainer/memory/counting_allocator.h"

namespace caravan::kernels {

at::Tensor zero_where(const at::Tensor& like) {
  const trainer::LibraryScratch uncounted;
  return at::zeros(at::IntArrayRef{}, like.options().dtype(at::kDouble));
}

double read_number(const at::Tensor& number) {
  return number.item<double>();
}

std::span<std::byte> bytes_of(const at::Tensor& on_host) {
  return {static_cast<std::byte*>(on_host.data_ptr()), on_host.nbytes()};
}

at::Tensor on_host(const at::Tensor& tensor) {
  return tensor.to(at::kCPU);
}

void fill_from_host(const at::Tensor& tensor, const std::function<void(at::Tensor& on_host)>& fill) {
  at::Tensor host = tensor.is_cpu() ? tensor : at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
  fill(host);
  if (!tensor.is_cpu()) tensor.copy_(host);
}

at::Tensor zeros_for_copy_of(const at::Tensor& like, int64_t elements) {
  if (like.is_meta()) return at::zeros({elements}, like.options());
  return kernels_of(like).zeros_on_host(elements, like.scalar_type());
}

void copy_to_host(const at::Tensor& to, const at::Tensor& from) {
  if (from.is_cpu()) return stream_copy(bytes_of(to), bytes_of(from));
  to.copy_(from);
}

}  // namespace caravan::kernels
