// Cross entropy over a vocabulary that is cut over the tensor group, for a chunk of C tokens at a time; in
// pieces, because the group meets between them:
//
//  - cross_entropy_maxima: the largest local logit of each token, and the sum of exponentials less that one;
//  - the group all-reduces MAX of statistics[kMaximum];
//  - cross_entropy_sums: the same sum less the group's maximum, and the target;
//  - the group all-reduces SUM of statistics[kSum] and [kTarget];
//  - add_cross_entropy_loss: Σ log(sum) − target;
//  - cross_entropy_gradient: logits → gradient by the logits.
//
// The logits are read by the first piece and the last alone. They have the storage type, statistics_3C is
// fp32 (fp64 for fp64); V local vocabulary without padding, may be empty. Targets are int64 ids; those below
// 0 do not count and get zero gradient. The sum of losses is one fp64 number on the device, so that nobody
// waits for it before the end of the step.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/trainer/kernels/cross_entropy_statistics.h"

namespace caravan::kernels {

void cross_entropy_maxima(const at::Tensor& logits_CV, at::Tensor& statistics_3C);
void cross_entropy_sums(const at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                        at::Tensor& statistics_3C);
void add_cross_entropy_loss(const at::Tensor& targets_C, const at::Tensor& statistics_3C,
                            at::Tensor& loss_sum);
// Of `scale` times the loss.
void cross_entropy_gradient(at::Tensor& logits_CV, const at::Tensor& targets_C, int64_t first_token,
                            double scale, const at::Tensor& statistics_3C);

}  // namespace caravan::kernels
