// What a trace (trace.proto) calls the types of ops. Pure.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "caravan/v1alpha1/trace.pb.h"
#include "planner/schedule/schedule.h"

namespace caravan::planner {

inline constexpr std::array kTraceCategories = {
    std::pair{OpType::Forward, v1alpha1::TraceEvent::forward},
    std::pair{OpType::Backward, v1alpha1::TraceEvent::backward},
    std::pair{OpType::BackwardInput, v1alpha1::TraceEvent::backward_input},
    std::pair{OpType::BackwardWeight, v1alpha1::TraceEvent::backward_weight}};

constexpr v1alpha1::TraceEvent::Category trace_category(OpType type) {
  for (const auto& [known, category] : kTraceCategories) {
    if (known == type) return category;
  }
  return v1alpha1::TraceEvent::none;
}

// Nothing for what is no op of a schedule.
constexpr std::optional<OpType> op_type_of(v1alpha1::TraceEvent::Category category) {
  for (const auto& [type, known] : kTraceCategories) {
    if (known == category) return type;
  }
  return std::nullopt;
}

}  // namespace caravan::planner
