// The job that `caravan init` writes: few fields, with values that suit the model, the data and the devices.
//
// Pure. The job keeps the schema's rules, and a layout of it fits into its devices. Errors are bad input, or
// exit code 3 with the planner's words when no layout fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "cli/run/machine.h"
#include "common/result.h"

namespace caravan::cli {

// What a look at the token files told.
struct TokenFacts {
  int64_t tokens = 0;
  int64_t largest_id = 0;
};

struct JobWish {
  std::string preset;
  std::string data;
  std::optional<TokenFacts> tokens = {};  // absent: the data are not at hand
  std::optional<int> vocab_size = {};
  std::optional<int> devices = {};  // absent: as few as do
  std::string product = {};         // of GPUs; empty: CPUs
  std::string claim = {};           // PersistentVolumeClaim of data and checkpoints; empty: this machine
  std::string name = {};            // empty: the preset's
};

struct NewJob {
  v1alpha1::LlamaTrainingJob job = {};
  v1alpha1::JobSpec suggested = {};     // what a user may want to say next
  std::vector<std::string> notes = {};  // what the user should know of the choices
};

Result<NewJob> make_new_job(const JobWish& wish, const Machine& machine);

// The text of the file.
std::string job_text(const NewJob& job);

}  // namespace caravan::cli
