// Time of one micro-batch's forward through a layer and through the head, on one device.
//
// Matrix products reach a part of the device's measured rate that grows with their size; attention, what
// moves through memory, and launches come on top; tensor parallel traffic is not hidden. Pure.
#pragma once

#include "planner/engine_profile.h"
#include "planner/layout.h"
#include "planner/request.h"

namespace caravan::planner {

struct ForwardTime {
  double layer = 0;      // without its attention and traffic
  double attention = 0;  // of a layer
  double traffic = 0;    // of a layer: collectives of the tensor group
  double head = 0;
};

// Seconds. Without a known product a FLOP takes one second and traffic nothing: good for proportions.
ForwardTime forward_time(const PlanRequest& request, const Layout& layout, const EngineProfile& profile);

// Bytes of one micro-batch between layers, all tokens.
double boundary_bytes(const PlanRequest& request, const Layout& layout);

}  // namespace caravan::planner
