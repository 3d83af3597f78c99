#include "planner/search/split_layers.h"

#include <cstddef>

namespace caravan::planner {

std::vector<int> split_layers(int64_t layers, int stages) {
  std::vector<int> split(static_cast<std::size_t>(stages), static_cast<int>(layers / stages));
  auto left = static_cast<int>(layers % stages);
  for (int stage = stages - 2; stage >= 0 && left > 0; --stage, --left) ++split[stage];
  return split;
}

}  // namespace caravan::planner
