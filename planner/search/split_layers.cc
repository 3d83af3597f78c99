#include "planner/search/split_layers.h"

#include <algorithm>
#include <cstddef>

#include "planner/model/parameters.h"
#include "planner/time/block_times.h"

namespace caravan::planner {
namespace {

// Of as many layers as the fullest of the stages before has, the last one gets what makes the pipeline's
// slowest stage fastest; of equals the most, which spares the first stage.
int layers_of_last(int layers, int stages, double head_layers, int fewest) {
  int best = fewest;
  double least = layers + head_layers;
  for (int last = fewest; last <= (layers + stages - 1) / stages; ++last) {
    const int fullest = (layers - last + stages - 2) / (stages - 1);
    const double slowest = std::max<double>(fullest, last + head_layers);
    if (slowest > least) continue;
    least = slowest;
    best = last;
  }
  return best;
}

}  // namespace

double head_in_time(const PlanRequest& request, const Layout& layout, const EngineProfile& profile) {
  const BlockTimes times = block_times(request, layout, profile);
  const double again = layout.activation_checkpointing ? times.again.work.total() : 0;
  return times.head.work.total() / (times.layer.work.total() + again);
}

double head_in_parameters(const ModelShape& shape) {
  return static_cast<double>(embedding_parameters(shape)) / static_cast<double>(layer_parameters(shape));
}

std::vector<int> split_layers(int64_t layers, int stages, double head_layers, int fewest) {
  const auto count = static_cast<int>(layers);
  if (stages == 1) return {count};
  const int last = layers_of_last(count, stages, head_layers, fewest);
  std::vector<int> split(static_cast<std::size_t>(stages), (count - last) / (stages - 1));
  split.back() = last;
  int left = (count - last) % (stages - 1);
  for (int stage = stages - 2; left > 0; --stage, --left) ++split[stage];
  return split;
}

std::vector<int> fill_stages(int64_t layers, int stages, double head_layers) {
  const auto count = static_cast<int>(layers);
  const double share = (count + head_layers) / stages;
  std::vector<int> split;
  int assigned = 0;
  for (int stage = 1; stage < stages; ++stage) {
    const int until = static_cast<int>(share * stage) + 1;
    const int end = std::min(std::max(until, assigned + 1), count - (stages - stage));
    split.push_back(end - assigned);
    assigned = end;
  }
  split.push_back(count - assigned);
  return split;
}

}  // namespace caravan::planner
