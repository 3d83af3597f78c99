// One `caravan run` as its user sees it: the real program with the real agents and ranks, its JSON lines, its
// exit code.
//
// The process and everything it started can be found by the work directory, which is this run's own.
#pragma once

#include <google/protobuf/struct.pb.h>

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/process.h"
#include "common/testing/temporary_folder.h"

namespace caravan::test {

using JsonObject = google::protobuf::Struct;

struct Finished {
  ExitStatus status;
  std::vector<JsonObject> lines;  // of standard output
  std::string out;                // standard output as it was, where the lines are no JSON
  std::string err;
};

class RunProcess {
 public:
  // arguments: after `caravan run`; a work directory and the JSON form are added. programs: the folder of
  // caravan, and of what it starts; empty: those that were built.
  explicit RunProcess(const std::vector<std::string>& arguments, const std::string& programs = "");

  pid_t pid() const { return process_->pid(); }
  const std::string& work_directory() const { return work_directory_; }
  // Its TMPDIR, with the work directory in it.
  const std::filesystem::path& temporary_folder() const { return folder_.path(); }

  // Reads on until a line of this type, and gives it; absent at the end of the output.
  std::optional<JsonObject> wait_for(const std::string& type);
  // Until this step of this attempt or a later one has finished; false when the run ended before.
  bool wait_for_step(int attempt, int step);
  void signal(int number) const;
  // To the end.
  Finished finish();

 private:
  std::optional<std::string> read_line();

  test::TemporaryFolder folder_;
  std::string work_directory_;
  UniqueFd out_;
  std::string unread_;
  std::string all_out_;
  std::vector<JsonObject> lines_;
  std::optional<Process> process_;
};

// Makes the folder, with the programs that were built but another trainer, for RunProcess.
void make_programs_with_trainer(const std::string& folder, const std::string& trainer);

// Runs to the end.
Finished run(const std::vector<std::string>& arguments);

double number(const JsonObject& object, const std::string& key);
std::string text(const JsonObject& object, const std::string& key);
// The last line of this type; an empty object when there is none.
JsonObject last_of(const Finished& finished, const std::string& type);
std::vector<JsonObject> all_of(const Finished& finished, const std::string& type);
// By step; of steps that were done again, the later loss.
std::map<int, double> losses_by_step(const Finished& finished);

}  // namespace caravan::test
