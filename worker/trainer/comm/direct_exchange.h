// Sums and gathers made of sends and receives: every rank owns one part of the tensor, gets what the others
// have of it, and adds up in fp32 (fp64 for fp64). Moves as many bytes as a ring, (n-1)/n of the tensor each
// way.
//
// Why not the collectives of c10d's Gloo: they round a bf16 sum at every step, and their reduce-scatter and
// all-gather hold a second copy of the whole tensor. Here it is one chunk (see communicator.h). Addition
// starts with a part's owner and goes on in cyclic rank order, so results are the same in every run and on
// every rank.
#pragma once

#include "worker/trainer/comm/communicator.h"

namespace caravan::trainer {

// Same contracts as the functions of Communicator with these names (all_reduce: sum).
void exchange_all_reduce(Communicator& group, at::Tensor& tensor);
void exchange_all_gather(Communicator& group, at::Tensor& output, const at::Tensor& input);
void exchange_reduce_scatter(Communicator& group, at::Tensor& output, const at::Tensor& input);

}  // namespace caravan::trainer
