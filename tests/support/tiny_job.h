// A job that trains in seconds on two cores: four layers, bytes of the King James Bible, a few steps.
#pragma once

#include <string>
#include <vector>

#include "common/testing/temporary_folder.h"

namespace caravan::test {

// Where a field is empty or zero, the job does not have it.
struct TinyJob {
  int tensor = 1;
  int pipeline = 1;
  int data = 1;
  std::string checkpointing = "Never";
  std::string schedule = "1F1B";
  int steps = 6;
  int max_restarts = 10;
  std::string model = "{preset: llama-tiny}";
  std::vector<std::string> more = {};  // further lines below spec, indented by two
};

// A folder with the token file corpus/genesis.bin, another one with the same tokens to validate on
// (corpus/held-out.bin), and job files that name the first.
class JobFolder {
 public:
  JobFolder();

  // Arguments of `caravan run`, the job file first.
  std::vector<std::string> arguments(const TinyJob& job, const std::vector<std::string>& more = {}) const;
  // Path of the written file.
  std::string write(const TinyJob& job) const;
  const test::TemporaryFolder& files() const { return files_; }
  // "--volume" with the folder of the token file.
  std::vector<std::string> volume() const;

 private:
  test::TemporaryFolder files_;
};

}  // namespace caravan::test
