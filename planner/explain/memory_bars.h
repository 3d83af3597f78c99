// The memory of a layout's stages as text: a bar per stage, stacked by term, with the limit marked. Letters
// tell the terms apart, so that it reads without colour, in a log, and in any font.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "caravan/v1alpha1/plan.pb.h"
#include "planner/memory/memory_terms.h"

namespace caravan::planner {

struct LetteredTerm {
  char letter = ' ';
  const char* name = "";
  int64_t bytes = 0;
};

// All terms, in the order in which they are drawn.
std::vector<LetteredTerm> letters_of(const MemoryTerms& terms);

// A limit more than so many times as far as the largest stage is not drawn: nothing would be left of the
// bars.
inline constexpr int kFarOff = 5;

struct StageMemory {
  int layers = 0;
  MemoryTerms terms;
  bool operator==(const StageMemory&) const = default;
};

struct MemoryChart {
  std::vector<StageMemory> stages;
  int first_stage = 0;       // the number of the first of them
  int binding_stage = 0;     // index into them
  int64_t usable_bytes = 0;  // 0: not known, and then no limit is drawn
};

MemoryChart memory_chart(const v1alpha1::Plan& plan);

// Of its binding stage alone.
MemoryChart memory_chart(const v1alpha1::Candidate& candidate, int64_t usable_bytes);

// The terms of the binding stage, each with its letter.
std::string memory_legend(const MemoryChart& chart, int width);

// A line per stage, neighbours that need the same on one; of long pipelines the first, the last and the
// binding ones, unless `all`.
std::string memory_bars(const MemoryChart& chart, int width, bool all);

// "PPGGGOOAAAA   |": terms in proportion, `width` characters at `full` bytes. limit: where the mark stands;
// 0: nowhere.
std::string stacked_bar(const MemoryTerms& terms, int64_t limit, int64_t full, int width);

}  // namespace caravan::planner
