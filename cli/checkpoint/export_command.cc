#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "checkpoint/folder/export.h"
#include "checkpoint/format/names.h"
#include "checkpoint/hugging_face/file_name.h"
#include "cli/arguments/choice.h"
#include "cli/checkpoint/checkpoint_folder.h"
#include "cli/checkpoint/commands.h"
#include "cli/checkpoint/steps.h"
#include "cli/data/end_of_text.h"
#include "cli/data/tokenizer_json.h"
#include "cli/say.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;
using checkpoint::CopiedFile;
using checkpoint::ElementType;

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

// By the tokenizer that is given, where the checkpoint does not say what ends a text. A tokenizer that only
// other programs understand is passed on all the same.
std::vector<int64_t> eos_tokens_of(const ExportOptions& options, const checkpoint::Checkpoint& from,
                                   const std::vector<CopiedFile>& tokenizer) {
  const bool is_asked = !options.tokenizer.empty() && from.model().eos_tokens.empty();
  if (!is_asked || tokenizer.front().name != "tokenizer.json") return {};
  const auto end = TokenizerJson::open(options.tokenizer).and_then([](const TokenizerJson& opened) {
    return find_end_of_text(opened);
  });
  if (!end) say(stderr, "warning: config.json gets no eos_token_id: {}\n", end.error().message);
  return end && *end ? std::vector<int64_t>{**end} : std::vector<int64_t>{};
}

void name_unfinished(const checkpoint::Volume& to, const std::string& folder) {
  const auto names = unfinished_exports(to, folder);
  if (!names) return;
  for (const std::string& name : *names) {
    say(stderr,
        "{}: is of an export that another process writes, or that was cut off; remove it if none does\n",
        to.shown(name));
  }
}

Status write(const CheckpointFolder& folder, const ExportOptions& options) {
  auto from = checkpoint::Checkpoint::open(*folder.volume, folder.steps.front());
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
  name_unfinished(**to, output.filename());
  const auto eos_tokens = eos_tokens_of(options, *from, *tokenizer);
  const checkpoint::ExportRequest request{.folder = output.filename(),
                                          .type = type_of(options, *from),
                                          .tokenizer = *std::move(tokenizer),
                                          .eos_tokens = eos_tokens};
  if (Status written = export_weights(*from, **to, request); !written) return written;
  fmt::print("{}: the weights of step {} in {}\n", options.output, from->state().step,
             element_type_name(request.type));
  return {};
}

Result<ExitCode> run(const ExportOptions& options) {
  const auto folder = open_checkpoint_folder(options.path);
  if (!folder) return tl::unexpected(folder.error());
  return export_step(*folder, options).map([] { return ExitCode::kDone; });
}

}  // namespace

Status export_step(const CheckpointFolder& folder, const ExportOptions& options) {
  const Status written = write(folder, options);
  const int step = folder.steps.front();
  if (written || !was_removed(folder, step)) return written;
  return failure(
      fmt::format("{}: the job has removed it meanwhile, as keepLast says; export a newer one ({})",
                  folder.volume->shown(checkpoint::step_folder(step)), written.error().message));
}

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
