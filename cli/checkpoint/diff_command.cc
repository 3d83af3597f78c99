#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "checkpoint/folder/weights_difference.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/config.h"
#include "cli/arguments/choice.h"
#include "cli/checkpoint/checkpoint_folder.h"
#include "cli/checkpoint/commands.h"
#include "cli/say.h"
#include "common/json.h"

namespace caravan::cli {
namespace {

struct DiffOptions {
  std::string first;
  std::string second;
  std::string output = "text";
};

Result<checkpoint::WeightsFolder> open(const std::string& path) {
  const Result<std::string> folder = model_folder(path);
  if (!folder) return tl::unexpected(folder.error());
  auto opened = checkpoint::WeightsFolder::open(*folder);
  if (!opened) return bad_input(opened.error().message);
  return opened;
}

void print_text(const checkpoint::TensorDifference& difference) {
  if (!difference.structure.empty()) {
    say("{}: {}\n", difference.tensor, difference.structure);
  } else {
    say("{}: {} of {} elements, by {:.3g} at most\n", difference.tensor, difference.different,
        difference.elements, difference.largest);
  }
}

// Where one of them is infinite or no number, largest is, and JSON has none of these: null.
void print_json(const checkpoint::TensorDifference& difference) {
  if (!difference.structure.empty()) {
    fmt::print("{{\"tensor\":{},\"difference\":{}}}\n", json_string(difference.tensor),
               json_string(difference.structure));
  } else {
    fmt::print("{{\"tensor\":{},\"different\":{},\"elements\":{},\"largest\":{}}}\n",
               json_string(difference.tensor), difference.different, difference.elements,
               json_number(difference.largest));
  }
}

// As diff(1): 0 where they are the same, 1 where they differ, 2 in trouble.
Result<ExitCode> run(const DiffOptions& options) {
  auto first = open(options.first);
  if (!first) return tl::unexpected(first.error());
  auto second = open(options.second);
  if (!second) return tl::unexpected(second.error());
  const auto differences = compare_weights(*first, *second);
  if (!differences) return bad_input(differences.error().message);
  const std::string shape =
      checkpoint::difference(first->model(), second->model(), options.first, options.second);
  const auto print = options.output == "json" ? print_json : print_text;
  if (!shape.empty()) print({.tensor = checkpoint::kConfigFile, .structure = shape});
  for (const auto& difference : *differences) print(difference);
  return shape.empty() && differences->empty() ? ExitCode::kDone : ExitCode::kJobFailed;
}

}  // namespace

void add_diff_command(CLI::App& checkpoint, Action& action) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* command = checkpoint.add_subcommand(
      "diff", "Which weights of two checkpoints differ, and by how much. Exit code 1 when some do.");
  const char* what = "A checkpoint, the folder of a job (its newest one), or a folder of Hugging Face";
  command->add_option("A", options->first, what)->required();
  command->add_option("B", options->second, what)->required();
  add_output_option(*command, options->output, {"text", "json"}, "Form of what is printed, a line each");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
