// The token files of one rank, and whether all ranks opened the same ones.
//
// Samples are numbered through all files in the order of their names. On nodes that list other files, as of a
// folder that is still being written, a number is another sample: the last stage of a pipeline would have
// targets of other samples than the first one has inputs, and nobody would notice. Names and lengths of files
// are compared, contents are not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/trainer/comm/communicator.h"
#include "worker/trainer/data/batch_reader.h"
#include "worker/trainer/loop/failure.h"
#include "worker/trainer/loop/trainer_options.h"

namespace caravan::trainer {

// Validation where the job asks for it.
struct RankData {
  BatchReader training;
  std::optional<BatchReader> validation;
  Status held_out = {};  // whether no file is trained on and validated on
};
Result<RankData> open_data(const TrainerOptions& options);

// What a rank opened of a data set; -1 throughout where it reads nothing.
struct OpenedFiles {
  int64_t files = -1;
  int64_t tokens = -1;
  int64_t sum = -1;  // of names and lengths
  bool operator==(const OpenedFiles&) const = default;
};
OpenedFiles opened_files(const BatchReader& reader);

struct DataDifference {
  std::string what;
  std::vector<int> ranks;  // that opened others than most of those that read
};
// Absent: there is none. opened: by rank. Pure.
std::optional<DataDifference> difference(const std::vector<OpenedFiles>& opened);

// All ranks end where some differ, and these are the ones to look at. Throws CommunicationError when a peer
// is lost.
Outcome compare_data(Communicator& world, const RankData& own, const DataOptions& paths);

}  // namespace caravan::trainer
