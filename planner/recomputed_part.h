// What of a layer runs again in its backward, where activations are not kept.
#pragma once

#include <cstdint>

namespace caravan::planner {

enum class RecomputedPart : uint8_t {
  Layer,  // all that its backward needs, from its input
  Mlp,    // the product that makes gate and up, usually the largest of what a layer saves
};

}  // namespace caravan::planner
