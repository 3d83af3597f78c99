#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments/choice.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "common/json.h"
#include "common/readable_integer.h"
#include "planner/explain/figures.h"
#include "planner/explain/table.h"
#include "planner/model/parameters.h"
#include "planner/model/presets.h"

namespace caravan::cli {
namespace {

using planner::Align;
using planner::ModelShape;

std::vector<ModelShape> all_presets() {
  std::vector<ModelShape> presets;
  for (const std::string& name : planner::preset_names()) presets.push_back(*planner::find_preset(name));
  return presets;
}

std::string text_of(const std::vector<ModelShape>& presets) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(presets.size());
  for (const ModelShape& shape : presets) {
    rows.push_back({shape.name, planner::readable_count(static_cast<double>(parameter_count(shape))),
                    std::to_string(shape.layers), readable_integer(shape.hidden),
                    fmt::format("{}/{}", shape.heads, shape.kv_heads), readable_integer(shape.ffn),
                    fmt::format("{}{}", readable_integer(shape.vocab), shape.tied_embeddings ? " tied" : ""),
                    shape.positions ? readable_integer(*shape.positions) : "any"});
  }
  return planner::format_table({{"preset"},
                                {"parameters", Align::Right},
                                {"layers", Align::Right},
                                {"hidden", Align::Right},
                                {"heads/kv", Align::Right},
                                {"ffn", Align::Right},
                                {"vocabulary"},
                                {"sequence", Align::Right}},
                               rows);
}

std::string json_of(const ModelShape& shape) {
  return fmt::format(
      R"({{"name":{},"parameters":{},"layers":{},"hiddenSize":{},"heads":{},"kvHeads":{},"headDim":{},)"
      R"("ffnSize":{},"vocabSize":{},"tiedEmbeddings":{},"longestSequence":{}}})"
      "\n",
      json_string(shape.name), parameter_count(shape), shape.layers, shape.hidden, shape.heads,
      shape.kv_heads, shape.head_dim, shape.ffn, shape.vocab, shape.tied_embeddings,
      shape.positions ? std::to_string(*shape.positions) : "null");
}

ExitCode print_presets(const std::string& form) {
  const std::vector<ModelShape> presets = all_presets();
  if (form == "json") {
    for (const ModelShape& shape : presets) fmt::print("{}", json_of(shape));
    return ExitCode::kDone;
  }
  fmt::print("{}{}", text_of(presets),
             planner::paragraph("sequence: the longest that the published model was made for. "
                                "spec.model.vocabSize replaces the vocabulary by that of another tokenizer.",
                                output_width()));
  return ExitCode::kDone;
}

}  // namespace

void add_presets_command(CLI::App& app, Action& action) {
  const auto form = std::make_shared<std::string>("text");
  CLI::App* command = app.add_subcommand("presets", "Lists the models that spec.model.preset names.");
  add_output_option(*command, *form, {"text", "json"}, "Form of what is printed, a line each");
  command->callback([form, &action] { action = [form] { return print_presets(*form); }; });
}

}  // namespace caravan::cli
