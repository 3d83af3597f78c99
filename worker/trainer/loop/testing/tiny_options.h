// For tests: what a rank of a tiny model is asked to do, with checkpoints after every tenth step.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "planner/mesh.h"
#include "worker/trainer/loop/rank_config.h"

namespace caravan::trainer {

inline TrainerOptions tiny_options(const std::string& folder, const planner::MeshShape& mesh = {},
                                   int rank = 0) {
  const std::string config = fmt::format(
      R"({{
    "jobName": "tiny", "attempt": 1, "rank": {}, "worldSize": {}, "masterAddress": "127.0.0.1",
    "masterPort": 1,
    "spec": {{
      "model": {{"architecture":
        {{"hiddenSize": 32, "layers": 2, "heads": 2, "kvHeads": 2, "ffnSize": 48, "vocabSize": 64}}}},
      "data": {{"path": "train.bin"}},
      "training": {{"steps": 50, "sequenceLength": 16, "globalBatchSequences": {}, "precision": "BF16"}},
      "resources": {{"devices": {}, "device": {{"kind": "CPU"}}}},
      "checkpoint": {{"path": "{}", "everySteps": 10}}}},
    "plan": {{"tensor": {}, "pipeline": {}, "data": {}, "microBatchSize": 1, "gradientAccumulation": 1,
      "virtualStages": 1, "layersPerStage": [2], "schedule": "1F1B", "zeroStage": 1}},
    "reportFd": -1, "commandFd": -1, "threads": 1, "collectiveTimeoutSeconds": 60}})",
      rank, mesh.ranks(), mesh.data, mesh.ranks(), folder, mesh.tensor, mesh.pipeline, mesh.data);
  const auto options = parse_rank_config(config);
  return options ? *options : throw std::runtime_error(options.error().message);
}

}  // namespace caravan::trainer
