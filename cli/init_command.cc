#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "cli/arguments/bounds.h"
#include "cli/arguments/choice.h"
#include "cli/arguments/device_option.h"
#include "cli/arguments/shell_words.h"
#include "cli/commands.h"
#include "cli/init/new_job.h"
#include "cli/load_job.h"
#include "cli/run/machine.h"
#include "common/standard_stream.h"
#include "common/utf8.h"
#include "data/dataset_facts.h"
#include "data/temporary_file.h"
#include "data/token_dataset.h"
#include "planner/model/presets.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTokensLookedAt = int64_t{1} << 28;
constexpr const char* kWildcards = "*?[";

struct InitOptions {
  JobWish wish = {.preset = "llama-mini", .data = "train.bin"};
  std::string device = kCpu;
  std::string file{kStandardStream};
  bool replace = false;
};

// Up to a wildcard the folder is a plain path.
bool is_there(const std::string& path) {
  const std::size_t wildcard = path.find_first_of(kWildcards);
  const std::string plain = path.substr(0, wildcard);
  const fs::path place = wildcard == std::string::npos ? fs::path(plain) : fs::path(plain).parent_path();
  std::error_code ignored;
  return place.empty() || fs::exists(place, ignored);
}

// What is wrong with what an option says; empty: nothing.
std::string not_utf8(const std::string& text) {
  const auto at = first_invalid_utf8(text);
  return at ? fmt::format("byte {} is not UTF-8, as job files are", *at) : "";
}

std::string empty_name(const std::string& name) {
  return name.empty() ? "the name is empty; give the name of a file, or - for standard output" : "";
}

// As an unset variable gives one.
std::string empty_claim(const std::string& name) {
  return name.empty() ? "the name is empty; give that of a PersistentVolumeClaim" : "";
}

// Absent where the data are not here, as those of a claim mostly are not.
Result<std::optional<TokenFacts>> look_at(const std::string& path) {
  if (!is_there(path)) return std::nullopt;
  const auto dataset = data::TokenDataset::open(path);
  if (!dataset) return bad_input("--data: " + dataset.error().message);
  const auto facts = data::examine(*dataset, kTokensLookedAt);
  if (!facts) return bad_input("--data: " + facts.error().message);
  return TokenFacts{.tokens = dataset->tokens(), .largest_id = facts->largest_id};
}

Error about_file(Error error) {
  error.message.insert(0, "--to: ");
  return error;
}

// Never over a file that exists, unless the user says so, and never half.
Status write_file(const std::string& path, const std::string& text, bool replace) {
  auto file = data::TemporaryFile::create(path, replace);
  if (!file) return tl::unexpected(about_file(file.error()));
  Status written = file->write(0, std::as_bytes(std::span(text)));
  if (written) written = file->commit();
  return written ? written : tl::unexpected(about_file(written.error()));
}

// A line of it; the names that users gave may stand in it.
void say(const std::string& text) {
  fmt::print(stderr, "{}\n", readable(text));
}

void say_what_is_missing(const std::string& data) {
  const bool is_one_file = !data.ends_with('/') && data.find_first_of(kWildcards) == std::string::npos;
  const std::string path = shell_path(data);
  say(is_one_file
          ? fmt::format("{0} is not there yet: caravan data tokenize --tokenizer byte TEXT --to {0}", path)
          : fmt::format("{} is not there yet", path));
}

void say_what_claim_needs(const std::string& claim, const std::string& data) {
  say(fmt::format("copy {} to the claim {}: see \"The volume\" in docs/user/kubernetes.md", shell_path(data),
                  claim));
}

void say_what_is_next(const InitOptions& options) {
  const std::string& claim = options.wish.claim;
  if (!claim.empty()) {
    say_what_claim_needs(claim, options.wish.data);
  } else if (!options.wish.tokens) {
    say_what_is_missing(options.wish.data);
  }
  if (options.file == kStandardStream) return;
  const std::string file = shell_path(options.file);
  std::string then = fmt::format(", then {} {}", claim.empty() ? "caravan run" : "kubectl apply -f", file);
  if (!options.wish.product.empty() && claim.empty()) then += " on a machine with such GPUs";
  say(fmt::format("{0}: written; next: caravan plan {0}{1}", file, then));
}

Result<ExitCode> init(InitOptions& options) {
  const auto tokens = look_at(options.wish.data);
  if (!tokens) return tl::unexpected(tokens.error());
  options.wish.tokens = *tokens;
  const Result<std::string> device = device_named(options.device);
  if (!device) return tl::unexpected(device.error());
  if (*device != kCpu) options.wish.product = *device;
  const Result<Machine> machine = inspect_machine();
  if (!machine) return tl::unexpected(machine.error());
  const Result<NewJob> made = make_new_job(options.wish, *machine);
  if (!made) return tl::unexpected(made.error());
  const std::string text = job_text(*made);
  // What the options say is held to the schema's rules, as any file is.
  if (const auto loaded = parse_job(text, "the job to be written", {}); !loaded)
    return tl::unexpected(loaded.error());
  for (const std::string& note : made->notes) say(note);
  if (options.file == kStandardStream) {
    fmt::print("{}", text);
  } else if (Status written = write_file(options.file, text, options.replace); !written) {
    return tl::unexpected(written.error());
  }
  say_what_is_next(options);
  return ExitCode::kDone;
}

}  // namespace

void add_init_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<InitOptions>();
  JobWish& wish = options->wish;
  CLI::App* command = app.add_subcommand(
      "init", "Writes a commented job file that fits the model, the data and the devices.");
  command->add_option("--preset", wish.preset, "The model, default llama-mini")
      ->check(one_of(planner::preset_names()))
      ->type_name("NAME");
  command->add_option("--data", wish.data, "Token file, folder of them or glob; default train.bin")
      ->check(not_utf8)
      ->type_name("PATH");
  command
      ->add_option("--vocab-size", wish.vocab_size,
                   "Tokens that the tokenizer of the data has; default: the preset's, or more where the data "
                   "have")
      ->check(bounds_of<v1alpha1::Model>("vocabSize"));
  command->add_option("--devices", wish.devices, "How many devices; default: as few as the model fits into")
      ->check(bounds_of<v1alpha1::Resources>("devices"));
  command->add_option("--device", options->device, "CPUs, or GPUs of a product; default cpu")
      ->check(known_device())
      ->type_name("NAME");
  command
      ->add_option("--kubernetes", wish.claim,
                   "A job for a cluster, with data and checkpoints on this PersistentVolumeClaim; default: a "
                   "job for this machine")
      ->check(not_utf8)
      ->check(empty_claim)
      ->type_name("CLAIM");
  command->add_option("--name", wish.name, "Name of the job; default: the preset's")
      ->check(not_utf8)
      ->type_name("NAME");
  command->add_option("--to", options->file, "Write this file; default: -, which is standard output")
      ->check(empty_name)
      ->type_name("FILE");
  command->add_flag("--force", options->replace, "Replace a file that exists");
  command->callback([options, &action] { action = [options] { return init(*options); }; });
}

}  // namespace caravan::cli
