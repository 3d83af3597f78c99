// The commands of the program with what each takes, as values: what completions for shells are written from.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;  // whose header takes longer to compile than what is written from the tree
}

namespace caravan::cli {

// None: a flag; Job: the name of a job of the cluster; Other: a number, a text of one's own.
enum class ValueKind { None, Choice, File, Job, Other };

// The type of an option or argument that is of kind Job.
inline constexpr const char* kTypeOfJobs = "JOB";

struct Value {
  ValueKind kind = ValueKind::None;
  std::vector<std::string> choices = {};  // of Choice
};

struct OptionWords {
  std::vector<std::string> names;  // with their dashes, the short ones first
  std::string description;
  Value value;
};

struct CommandTree {
  std::string path;  // "caravan data tokenize"
  std::string description;
  Value positional = {};  // of the first one; None: it takes none
  std::vector<OptionWords> options = {};
  std::vector<CommandTree> commands = {};

  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

CommandTree command_tree(const CLI::App& program);

// The program and all that is below it, outermost first.
std::vector<const CommandTree*> all_commands(const CommandTree& tree);

}  // namespace caravan::cli
