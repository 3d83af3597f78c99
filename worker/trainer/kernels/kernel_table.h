// What a kind of device must be able to do for the trainer: a function for each kernel, with the meaning that
// the functions of this folder's other headers give them.
//
// Those functions are what the trainer calls. They make the results, charge memory, open the spans of traces
// and tell of products, the same way for all devices, and have the table of the device on which the tensors
// lie do the work. Processors have a table from the start, whose kernels choose by instruction set
// (instruction_set.h). A table throws c10::Error for what it cannot do; none but sum_of_bits and
// zeros_on_host waits for its device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "worker/trainer/kernels/adamw.h"
#include "worker/trainer/kernels/attention.h"
#include "worker/trainer/kernels/rms_norm.h"
#include "worker/trainer/kernels/rope.h"

namespace caravan::kernels {

// Results are the last arguments, made by the caller; of attention alone the library that computes it decides
// how its results lie. Token ids and targets may lie on the host.
struct KernelTable {
  const char* name;

  // residual_TD: added to x first, or undefined.
  void (*rms_norm)(const at::Tensor& x_TD, const at::Tensor& residual_TD, const at::Tensor& w_D, double eps,
                   const Normed& normed);
  void (*rms_norm_apply)(const at::Tensor& x_TD, const at::Tensor& w_D, const at::Tensor& scale_T,
                         at::Tensor& y_TD);
  void (*rms_norm_backward)(at::Tensor& gradient_TD, const at::Tensor& x_TD, const at::Tensor& w_D,
                            const at::Tensor& scale_T, const at::Tensor& residual_TD, at::Tensor& dw_D);

  void (*rope_apply)(at::Tensor& heads_TE, const at::Tensor& table_SK, int64_t heads, Rotation rotation);

  void (*swiglu_forward)(const at::Tensor& gate_up_T2F, at::Tensor& gated_TF);
  void (*swiglu_backward)(at::Tensor& gate_up_T2F, at::Tensor& gradient_TF);

  AttentionResult (*attention_forward)(const at::Tensor& qkv_TE, const AttentionHistory& history,
                                       const AttentionShape& shape);
  void (*attention_backward)(at::Tensor& qkv_TE, const at::Tensor& doutput_TA, const AttentionResult& result,
                             const at::Tensor& by_later_TC, AttentionHistory& history,
                             const AttentionShape& shape);

  // result = a · b
  void (*product)(const at::Tensor& a, const at::Tensor& b, at::Tensor& result);
  // dw += dyᵀ · x
  void (*add_weight_gradient)(const at::Tensor& dy_TO, const at::Tensor& x_TI, at::Tensor& dw_OI);

  void (*cross_entropy_maxima)(const at::Tensor& logits_CV, at::Tensor& statistics_3C);
  void (*cross_entropy_sums)(const at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                             at::Tensor& statistics_3C);
  void (*add_cross_entropy_loss)(const at::Tensor& targets_C, const at::Tensor& statistics_3C,
                                 at::Tensor& loss_sum);
  void (*cross_entropy_gradient)(at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                                 double scale, const at::Tensor& statistics_3C);

  void (*embedding_forward)(const at::Tensor& tokens, const at::Tensor& table_VD, int64_t first_token,
                            at::Tensor& y_TD);
  void (*embedding_backward)(const at::Tensor& dy_TD, const at::Tensor& tokens, at::Tensor& dtable_VD,
                             int64_t first_token);

  void (*adamw)(const AdamWTensors& tensors, const AdamW& update);
  void (*adamw_values)(const AdamWTensors& tensors, const AdamW& update);
  void (*add_sum_of_squares)(const at::Tensor& values, at::Tensor& sum);

  void (*fill_normal)(at::Tensor& values, uint64_t key, int64_t first_index, double standard_deviation);

  uint64_t (*sum_of_bits)(const at::Tensor& flat);

  // zeros_for_copy_of of host_copy.h.
  at::Tensor (*zeros_on_host)(int64_t elements, at::ScalarType type);
};

// Of processors.
const KernelTable& cpu_kernels();

// Of the device on which the tensor lies. Throws c10::Error where none was given.
const KernelTable& kernels_of(const at::Tensor& tensor);

// Has tensors of that type of device use the table until the scope ends, on all threads.
class UseKernels {
 public:
  UseKernels(c10::DeviceType type, const KernelTable& table);
  ~UseKernels();
  UseKernels(const UseKernels&) = delete;
  UseKernels& operator=(const UseKernels&) = delete;

 private:
  const c10::DeviceType type_;
  const KernelTable* const before_;
};

}  // namespace caravan::kernels
