#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "checkpoint/folder/export.h"
#include "checkpoint/hugging_face/file_name.h"
#include "cli/arguments/choice.h"
#include "cli/checkpoint/checkpoint_folder.h"
#include "cli/checkpoint/commands.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;
using checkpoint::CopiedFile;
using checkpoint::ElementType;

struct ExportOptions {
  std::string path;
  std::string output;
  std::string type;  // empty: as it was trained
  std::string tokenizer;
};

// The checkpoint's own, unless another folder is named.
Result<std::vector<CopiedFile>> tokenizer_of(const ExportOptions& options, checkpoint::Checkpoint& from) {
  if (options.tokenizer.empty()) return from.tokenizer();
  auto files = checkpoint::read_tokenizer(options.tokenizer);
  if (!files || (!files->empty() && files->front().name.starts_with("tokenizer."))) return files;
  return bad_input(
      fmt::format("--tokenizer: {} has neither tokenizer.json nor tokenizer.model; give the folder of the "
                  "model that they came with",
                  options.tokenizer));
}

ElementType type_of(const ExportOptions& options, const checkpoint::Checkpoint& from) {
  if (options.type.empty()) return from.plan().types().weights;
  return options.type == "bf16" ? ElementType::BF16 : ElementType::F32;
}

Result<ExitCode> run(const ExportOptions& options) {
  const auto folder = open_checkpoint_folder(options.path);
  if (!folder) return tl::unexpected(folder.error());
  auto from = checkpoint::Checkpoint::open(*folder->volume, folder->steps.front());
  if (!from) return tl::unexpected(from.error());
  auto tokenizer = tokenizer_of(options, *from);
  if (!tokenizer) return tl::unexpected(tokenizer.error());

  std::error_code error;
  fs::path output = fs::absolute(options.output, error).lexically_normal();
  if (!output.has_filename()) output = output.parent_path();  // without a slash at its end
  if (!checkpoint::is_file_name(output.filename().string()))
    return bad_input(fmt::format("{}: cannot be the name of a new folder", options.output));
  auto to = checkpoint::make_volume(output.parent_path());
  if (!to) return tl::unexpected(to.error());
  const checkpoint::ExportRequest request{
      .folder = output.filename(), .type = type_of(options, *from), .tokenizer = *std::move(tokenizer)};
  if (Status written = export_weights(*from, **to, request); !written) return tl::unexpected(written.error());
  fmt::print("{}: the weights of step {} in {}\n", options.output, from->state().step,
             element_type_name(request.type));
  return ExitCode::kDone;
}

}  // namespace

void add_export_command(CLI::App& checkpoint, Action& action) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      checkpoint.add_subcommand("export", "Writes the weights alone, verified, as a folder of Hugging Face.");
  command->add_option("DIR", options->path, "A checkpoint, or the folder of a job: its newest one")
      ->required();
  command->add_option("OUT", options->output, "The folder to make")->required();
  command
      ->add_option("--dtype", options->type,
                   "Of the tensors; fp32 comes from the master copies; default: as it was trained")
      ->check(one_of({"bf16", "fp32"}))
      ->type_name("TYPE");
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "Folder whose tokenizer is taken; default: the checkpoint's own")
      ->check(CLI::ExistingDirectory)
      ->type_name("DIR");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
