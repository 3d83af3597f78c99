#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments/choice.h"
#include "cli/data/commands.h"
#include "cli/say.h"
#include "common/json.h"
#include "common/readable_integer.h"
#include "common/standard_stream.h"
#include "data/dataset_facts.h"
#include "data/token_dataset.h"

namespace caravan::cli {
namespace {

struct InspectOptions {
  std::vector<std::string> paths;
  std::string output = "text";
};

void print_text(const data::TokenDataset& dataset, const data::DatasetFacts& facts) {
  for (const data::TokenFile& file : dataset.files()) {
    const data::TokenLayout& layout = file.layout();
    const std::string documents =
        layout.documents ? fmt::format(", {} documents", readable_integer(*layout.documents)) : "";
    say("{}: {}, {}, {} tokens{}\n", file.path(), to_string(layout.format), to_string(layout.type),
        readable_integer(layout.tokens), documents);
  }
  fmt::print("files            {}\n", readable_integer(std::ssize(dataset.files())));
  fmt::print("tokens           {}\n", readable_integer(dataset.tokens()));
  fmt::print("documents        {}\n", facts.documents ? readable_integer(*facts.documents) : "not recorded");
  fmt::print("largest token    {}: the model needs vocabSize {} or more\n", facts.largest_id,
             facts.largest_id + 1);
  fmt::print("first tokens     {}\n", fmt::join(facts.first_tokens, " "));
}

std::string json_or_null(std::optional<int64_t> number) {
  return number ? std::to_string(*number) : "null";
}

std::string file_json(const data::TokenFile& file) {
  const data::TokenLayout& layout = file.layout();
  return fmt::format(R"({{"path":{},"format":"{}","type":"{}","tokens":{},"documents":{}}})",
                     json_string(file.path()), to_string(layout.format), to_string(layout.type),
                     layout.tokens, json_or_null(layout.documents));
}

void print_json(const data::TokenDataset& dataset, const data::DatasetFacts& facts) {
  std::vector<std::string> files;
  for (const data::TokenFile& file : dataset.files()) files.push_back(file_json(file));
  fmt::print(
      R"({{"files":[{}],"tokens":{},"documents":{},"largestToken":{},"vocabSize":{},"firstTokens":[{}]}})"
      "\n",
      fmt::join(files, ","), dataset.tokens(), json_or_null(facts.documents), facts.largest_id,
      facts.largest_id + 1, fmt::join(facts.first_tokens, ","));
}

Result<ExitCode> run(const InspectOptions& options) {
  if (options.paths.size() > 1) {
    return bad_input(
        "caravan data inspect: one PATH is looked at; "
        "name the folder, or put a pattern in quotes, "
        "which the shell would replace by the names of files");
  }
  const std::string& path = options.paths.front();
  if (path == kStandardStream)
    return bad_input("standard input: tokens are read at any place of a file; give the path of one");
  const Result<data::TokenDataset> dataset = data::TokenDataset::open(path);
  if (!dataset) return bad_input(dataset.error().message);
  const Result<data::DatasetFacts> facts = data::examine(*dataset);
  if (!facts) return tl::unexpected(facts.error());
  options.output == "json" ? print_json(*dataset, *facts) : print_text(*dataset, *facts);
  return ExitCode::kDone;
}

}  // namespace

void add_inspect_command(CLI::App& data, Action& action) {
  const auto options = std::make_shared<InspectOptions>();
  CLI::App* command = data.add_subcommand("inspect", "Checks token files and tells what stands in them.");
  // More than one are taken to be refused with what a shell makes of a pattern.
  constexpr int kMost = 1 << 20;
  command
      ->add_option("PATH", options->paths,
                   "Token file (llm.c or Megatron), folder of them, or glob in quotes")
      ->required()
      ->expected(1, kMost);
  add_output_option(*command, options->output, {"text", "json"}, "Form of what is printed");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
