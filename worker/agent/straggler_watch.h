// Which ranks are slower than those that do the same work, and so hold up all: ranks of one pipeline stage
// do, up to the padding of what is cut between them.
//
// A rank's own work in a step is divided by the median of the other ranks of its stage. One that comes to 1.2
// or more in 20 steps in a row is named, once. A stage of one rank has nobody to be held against: stages
// differ in what they do by the plan, so that no ratio between them tells anything. Pure.
#pragma once

#include <string>
#include <vector>

namespace caravan::agent {

struct Straggler {
  int rank = 0;
  double ratio = 0;
};

class StragglerWatch {
 public:
  static constexpr int kSteps = 20;
  static constexpr double kRatio = 1.2;

  // Ranks of a stage have consecutive numbers.
  StragglerWatch(int world_size, int ranks_per_stage);

  void reset();
  // Of a step that all ranks finished: the seconds of own work of each. Those that are to be named now.
  std::vector<Straggler> add(const std::vector<double>& work_seconds);
  // Of each rank in the last step; 0 where nothing can be said. Empty when that holds for all.
  const std::vector<double>& ratios() const { return ratios_; }

 private:
  void judge_stage(const std::vector<double>& work_seconds, int first);

  int world_size_;
  int ranks_per_stage_;
  std::vector<double> ratios_;
  std::vector<int> slow_steps_;  // in a row
  int named_ = 0;
};

// For an event.
std::string describe_straggler(const Straggler& straggler, int node, int step);

}  // namespace caravan::agent
