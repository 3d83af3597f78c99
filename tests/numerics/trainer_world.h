// All ranks of one training run as real caravan-trainer processes over Gloo on the loopback interface,
// started from RankConfigs as an agent would, with a command pipe each.
//
// When a rank ends with an error the others are killed, as an agent would. Everything is gone when the object
// is.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "caravan/v1alpha1/rank.pb.h"
#include "common/process.h"
#include "common/testing/temporary_folder.h"
#include "planner/layout.h"

namespace caravan::numerics {

// Four layers, fp32, three steps of eight sequences of the given token file.
v1alpha1::JobSpec tiny_spec(const std::string& token_file);

// tensor, pipeline, data; even stages, sequence parallelism with tensor > 1, ZeRO-1, 1F1B.
planner::Layout layout_of(int tensor, int pipeline, int data);
// With chunks of layers on each stage: of a model of as many layers as there are groups, or of the usual
// four.
planner::Layout layout_of(int tensor, int pipeline, int data, planner::ScheduleKind schedule);
int layers_of(const planner::Layout& layout);
planner::Layout changed(planner::Layout layout, const std::function<void(planner::Layout&)>& change);
void gpipe(planner::Layout& layout);
void zero_bubble(planner::Layout& layout);
void zero_bubble_h2(planner::Layout& layout);
void checkpointed(planner::Layout& layout);

// What one rank of a run is told, but for the port at which they meet and what it inherits.
v1alpha1::RankConfig rank_config(const v1alpha1::JobSpec& spec, const planner::Layout& layout, int rank);

struct WorldOptions {
  std::string gradient_folder = {};  // empty: none is written
  int attempt = 1;
  int threads = 1;  // of each rank
  bool double_precision = false;
  std::function<void(v1alpha1::RankConfig&)> change = {};  // of what each rank is told
};

struct RankResult {
  std::optional<ExitStatus> status;  // absent: killed since another rank had failed
  std::vector<v1alpha1::RankReport> reports;
  std::string log;  // standard error
};

class TrainerWorld {
 public:
  TrainerWorld(const v1alpha1::JobSpec& spec, const planner::Layout& layout,
               const WorldOptions& options = {});

  void send(int rank, const v1alpha1::RankCommand& command) const;
  void close_command_pipe(int rank) { ranks_[static_cast<std::size_t>(rank)].commands.reset(); }
  const Process& process(int rank) const { return ranks_[static_cast<std::size_t>(rank)].process; }
  // Until the rank has reported that it begins; false when it ended before.
  bool wait_for_start(int rank) const;
  // Until the rank has reported that this step comes later, or that it still does; false when it ended
  // before.
  bool wait_for_interlude(int rank, int delayed_step, bool goes_on = false) const;
  // Until the rank has reported this step; false when it ended before.
  bool wait_for_step(int rank, int step) const;
  // Its next answer to RankCommand.tell_activity; it must live.
  v1alpha1::RankActivity ask_activity(int rank) const;
  // To the end, results by rank.
  std::vector<RankResult> wait();

 private:
  bool wait_for(int rank, const std::function<bool(const v1alpha1::RankReport&)>& holds) const;

  struct Rank {
    Process process;
    UniqueFd commands;
    std::string report_path;
    std::string log_path;
  };

  test::TemporaryFolder folder_;
  std::vector<Rank> ranks_;
};

// Runs to the end and fails the running test where a rank fails.
std::vector<RankResult> train(const v1alpha1::JobSpec& spec, const planner::Layout& layout,
                              const WorldOptions& options = {});

// By step, as the first rank that knows it reports it.
std::vector<double> losses(const std::vector<RankResult>& ranks);

// By name, from the folder that the run wrote.
using NamedGradients = std::map<std::string, std::vector<double>>;
NamedGradients read_gradients(const std::string& folder);

}  // namespace caravan::numerics
