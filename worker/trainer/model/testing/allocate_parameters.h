// A rank's parameters with all their gradients, as zeros.
#pragma once

#include "worker/trainer/model/parameters.h"

namespace caravan::trainer {

inline ParameterStore allocate_parameters(const planner::ModelShape& model, const StagePlacement& placement,
                                          int64_t padding, const at::TensorOptions& storage) {
  ParameterStore store = allocate_values(lay_out_parameters(model, placement, padding), storage);
  allocate_gradients(store);
  return store;
}

}  // namespace caravan::trainer
