// What a kernel did that no device allows, or that no device need do twice in the same way.
#pragma once

#include <stdexcept>

namespace caravan::cuda::emulation {

class FaultInKernel : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace caravan::cuda::emulation
