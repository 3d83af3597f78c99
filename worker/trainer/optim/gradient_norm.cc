#include "worker/trainer/optim/gradient_norm.h"

#include <ATen/ops/dot.h>

#include <algorithm>

#include "planner/work/constants.h"
#include "worker/trainer/memory/ledger.h"

namespace caravan::trainer {

using planner::kNormChunkElements;

double sum_of_squares(const at::Tensor& flat, const std::vector<FlatRange>& ranges) {
  const ChargeAs charge(MemoryUse::Workspace);
  double sum = 0;
  for (const FlatRange& range : ranges) {
    for (int64_t begin = 0; begin < range.elements; begin += kNormChunkElements) {
      const int64_t elements = std::min(kNormChunkElements, range.elements - begin);
      const at::Tensor chunk = flat.narrow(0, range.offset + begin, elements).to(at::kDouble);
      sum += at::dot(chunk, chunk).item<double>();
    }
  }
  return sum;
}

}  // namespace caravan::trainer
