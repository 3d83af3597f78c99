// The same training in several layouts, by real trainer processes, to be held against each other.
#pragma once

#include <string>
#include <vector>

#include "planner/layout.h"
#include "tests/numerics/trainer_world.h"

namespace caravan::numerics {

struct TrainingCase {
  planner::Layout layout;
  bool tied = false;
  int threads = 1;         // of each rank
  int64_t sequences = 12;  // of a step, for 1, 2, 3 or 4 data parallel ranks
};

// The same model without any parallelism.
TrainingCase in_one_process(const TrainingCase& wanted);

// Three steps whose gradients are all clipped.
v1alpha1::JobSpec compared_spec(const std::string& token_file, const TrainingCase& wanted);

struct Training {
  std::vector<double> losses;  // the later ones tell of updated weights
  NamedGradients gradients;    // of the last step
};

// Where two stages hold a tied table, fails the running test unless its gradient has the same bits on both.
Training run_compared(const std::string& token_file, const TrainingCase& wanted, bool double_precision);

// Fails the running test where a loss or an element of a gradient differs by more than a part of 1e-10.
void expect_same(const Training& actual, const Training& expected);

std::vector<v1alpha1::StepReport> steps_of(const RankResult& rank);

}  // namespace caravan::numerics
