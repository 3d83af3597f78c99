// Tensors as the host sees them, wherever they lie: for what files and ranks' messages are made of. On
// processors nothing is copied. All of it waits for the device; none of it is for the middle of a step.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <span>

namespace caravan::kernels {

// A number in fp64 that kernels add to, zero, where `like` lies. No ledger counts its eight bytes.
at::Tensor zero_where(const at::Tensor& like);
double read_number(const at::Tensor& number);

// Contiguous. The bytes live as long as the tensor that they are made of.
std::span<std::byte> bytes_of(const at::Tensor& on_host);

// The tensor itself, or a copy of it.
at::Tensor on_host(const at::Tensor& tensor);

// Has `fill` write every element of a contiguous tensor, given it or a copy that goes there afterwards.
void fill_from_host(const at::Tensor& tensor, const std::function<void(at::Tensor& on_host)>& fill);

// Memory of the host that copies of a tensor like this are fastest to, zero: of a tensor on a device, pages
// that stay where they are, no more than it takes, which no ledger counts. Of tensors without data, none.
// Throws std::system_error where the system has none left.
at::Tensor zeros_for_copy_of(const at::Tensor& like, int64_t elements);

// to: made by the function above, or a part of it. Of the same length.
void copy_to_host(const at::Tensor& to, const at::Tensor& from);

}  // namespace caravan::kernels
