// What may stand in place of the last word of a command line, from the tree of commands: for programs that
// ask instead of reading a script, as kubectl asks its plugins.
#pragma once

#include <string>
#include <vector>

#include "cli/completion/command_tree.h"

namespace caravan::cli {

struct Candidate {
  std::string word;
  std::string description = {};

  bool operator==(const Candidate&) const = default;
};

struct Candidates {
  std::vector<Candidate> words = {};   // that begin with the word
  ValueKind kind = ValueKind::Choice;  // Job, File: those are to be looked up elsewhere
};

// words: without the program's name; the last one, which may be empty, is completed.
Candidates candidates_for(const CommandTree& program, const std::vector<std::string>& words);

}  // namespace caravan::cli
