#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "checkpoint/folder/weights_folder.h"
#include "cli/checkpoint/checkpoint_folder.h"
#include "cli/commands.h"
#include "cli/data/load_tokenizer.h"
#include "cli/generate/prompt.h"
#include "cli/generate/stop_tokens.h"
#include "cli/generate/text_stream.h"
#include "cli/run/machine.h"
#include "cli/say.h"
#include "common/arguments/number_between.h"
#include "common/line_reader.h"
#include "common/process.h"
#include "common/standard_stream.h"
#include "common/utf8.h"

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 64;
constexpr int64_t kBytes = 256;

struct GenerateOptions {
  std::string path;
  std::string prompt;
  std::string tokenizer;
  std::vector<std::string> end_of_text;
  int most_tokens = 200;
  double temperature = 0;
  std::optional<uint64_t> seed;
};

// The one of the folder, or bytes where the vocabulary is theirs.
Result<LoadedTokenizer> tokenizer_of(const GenerateOptions& options, const std::string& folder,
                                     int64_t vocabulary) {
  constexpr const char* kNoEnd = "none";  // see stop_tokens
  if (!options.tokenizer.empty()) return load_tokenizer(options.tokenizer, kNoEnd);
  std::error_code ignored;
  if (fs::exists(fs::path(folder) / "tokenizer.json", ignored)) return load_tokenizer(folder, kNoEnd);
  if (vocabulary == kBytes) return load_tokenizer("byte", kNoEnd);
  return bad_input(fmt::format(
      "--tokenizer: {} has no tokenizer.json; give the one that its data were made with, or byte", folder));
}

Result<std::vector<uint32_t>> tokens_of(const std::string& prompt, const data::Tokenizer& tokenizer) {
  const auto tokens = tokenizer.encode(prompt);
  if (!tokens) return tl::unexpected(tokens.error());
  if (tokens->empty()) return bad_input("--prompt: must not be empty: give the text to go on from");
  std::vector<uint32_t> ids;
  for (const data::Token& token : *tokens) ids.push_back(token.id);
  return ids;
}

void choose_seed(GenerateOptions& options) {
  if (options.seed || options.temperature == 0) return;
  options.seed = std::random_device()();
  say(stderr, "the text is drawn with --seed {}\n", *options.seed);
}

// The program that knows the model, and the ends of its pipes.
struct Generator {
  Process process;
  UniqueFd tokens;
};

std::vector<std::string> arguments(const GenerateOptions& options, const std::string& folder, int prompt_fd,
                                   const std::vector<int64_t>& end_of_text, const Machine& machine) {
  std::vector<std::string> all = {folder,
                                  fmt::format("--prompt-fd={}", prompt_fd),
                                  fmt::format("--max-tokens={}", options.most_tokens),
                                  fmt::format("--temperature={}", options.temperature),
                                  fmt::format("--seed={}", options.seed.value_or(0)),
                                  fmt::format("--threads={}", machine.cores),
                                  fmt::format("--memory-bytes={}", machine.memory_bytes)};
  for (const int64_t token : end_of_text) all.push_back(fmt::format("--end-of-text={}", token));
  return all;
}

Status write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    // It has ended, and says why.
    if (count < 0 && errno == EPIPE) return {};
    if (count < 0) return failure(fmt::format("cannot hand over the prompt: {}", std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<Generator> start(const GenerateOptions& options, const std::string& folder,
                        const std::vector<uint32_t>& prompt, const std::vector<int64_t>& end_of_text) {
  const Result<Machine> machine = inspect_machine();
  if (!machine) return tl::unexpected(machine.error());
  Result<Pipe> in = make_pipe();
  if (!in) return tl::unexpected(in.error());
  Result<Pipe> out = make_pipe();
  if (!out) return tl::unexpected(out.error());
  std::error_code ignored;
  const fs::path here = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  Result<Process> process =
      Process::spawn({.program = (here / "caravan-generate").string(),
                      .arguments = arguments(options, folder, in->read_end.get(), end_of_text, *machine),
                      .environment = {{"OMP_WAIT_POLICY", "PASSIVE"}},
                      .stdout_fd = out->write_end.get(),
                      .inherited_fds = {in->read_end.get()}});
  if (!process) return tl::unexpected(process.error());
  in->read_end.reset();
  out->write_end.reset();
  if (Status written = write_all(in->write_end.get(), fmt::format("{}\n", fmt::join(prompt, " "))); !written)
    return tl::unexpected(written.error());
  return Generator{*std::move(process), std::move(out->read_end)};
}

// A terminal does not get what would move its cursor.
Status show(const std::string& text) {
  static const bool to_terminal = isatty(STDOUT_FILENO) == 1;
  const std::string shown = to_terminal ? readable(text) : text;
  if (std::fwrite(shown.data(), 1, shown.size(), stdout) == shown.size() && std::fflush(stdout) == 0)
    return {};
  return failure(fmt::format("cannot write the text: {}", std::strerror(errno)));
}

// What comes out of the program, behind the prompt, which stands there once it is known that it can be gone
// on from.
class Output {
 public:
  Output(std::string prompt, TextStream stream) : prompt_(std::move(prompt)), stream_(std::move(stream)) {}

  bool has_begun() const { return prompt_.empty(); }

  Status add(const std::string& line) {
    uint32_t token = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), token);
    if (error != std::errc() || end != line.data() + line.size())
      return failure(fmt::format("caravan-generate wrote '{}' in place of a token", line));
    const auto text = stream_.add(token);
    if (!text) return tl::unexpected(text.error());
    return show(std::exchange(prompt_, "") + *text);
  }

  Status finish() {
    const auto rest = stream_.finish();
    if (!rest) return tl::unexpected(rest.error());
    return show(std::exchange(prompt_, "") + *rest + "\n");
  }

 private:
  std::string prompt_;
  TextStream stream_;
};

// Until its end.
Status show_tokens(int fd, Output& output) {
  LineReader lines(kLongestLine);
  char chunk[4096];
  while (true) {
    const ssize_t count = ::read(fd, chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(fmt::format("cannot read tokens: {}", std::strerror(errno)));
    if (count == 0) return {};
    lines.add({chunk, static_cast<std::size_t>(count)});
    while (true) {
      const auto line = lines.next();
      if (!line) return tl::unexpected(line.error());
      if (!*line) break;
      if (Status shown = output.add(**line); !shown) return shown;
    }
  }
}

// With one of its own codes the program has said why, which stands above.
Result<ExitCode> broken_off(const ExitStatus& end, bool has_begun) {
  constexpr ExitCode kTold[] = {ExitCode::kJobFailed, ExitCode::kBadInput, ExitCode::kDoesNotFit};
  const auto told = std::ranges::find(kTold, static_cast<ExitCode>(end.exit_code));
  const bool is_told = told != std::end(kTold);
  if (is_told && !has_begun) return *told;
  return tl::unexpected(
      Error{fmt::format("{}: caravan-generate ended with {}{}",
                        has_begun ? "the text ends here" : "there is no text", to_string(end),
                        end.signal == SIGKILL ? "; the system may have had no memory left" : ""),
            is_told ? *told : ExitCode::kJobFailed});
}

Result<ExitCode> run(GenerateOptions options) {
  const Result<std::string> folder = model_folder(options.path);
  if (!folder) return tl::unexpected(folder.error());
  const auto weights = checkpoint::WeightsFolder::open(*folder);
  if (!weights) return bad_input(weights.error().message);
  const auto loaded = tokenizer_of(options, *folder, weights->model().vocab);
  if (!loaded) return tl::unexpected(loaded.error());
  const auto text = options.prompt == kStandardStream ? read_prompt(options.prompt) : options.prompt;
  if (!text) return tl::unexpected(text.error());
  const auto prompt = tokens_of(*text, *loaded->tokenizer);
  if (!prompt) return tl::unexpected(prompt.error());
  const auto of_folder = weights->eos_tokens();
  if (!of_folder) return bad_input(of_folder.error().message);
  const auto end_of_text = stop_tokens(options.end_of_text, *of_folder, *loaded->tokenizer);
  if (!end_of_text) return tl::unexpected(end_of_text.error());

  choose_seed(options);
  std::signal(SIGPIPE, SIG_IGN);  // the program may end before it has the prompt
  auto generator = start(options, *folder, *prompt, *end_of_text);
  if (!generator) return tl::unexpected(generator.error());
  std::signal(SIGPIPE,
              SIG_DFL);  // as any filter ends whose reader has enough; the program ends with this one
  Output output(*text, TextStream(*loaded->tokenizer, *prompt));
  if (Status shown = show_tokens(generator->tokens.get(), output); !shown)
    return tl::unexpected(shown.error());
  const bool has_begun = output.has_begun();
  const ExitStatus end = generator->process.wait();
  const bool is_done = end == ExitStatus{.exit_code = 0};
  if (is_done || has_begun)
    if (Status shown = output.finish(); !shown) return tl::unexpected(shown.error());
  if (is_done) return ExitCode::kDone;
  return broken_off(end, has_begun);
}

}  // namespace

void add_generate_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<GenerateOptions>();
  CLI::App* command = app.add_subcommand(
      "generate", "Continues a text with a trained model, on this machine's processor, as it comes.");
  command
      ->add_option("CHECKPOINT", options->path,
                   "A checkpoint, the folder of a job (its newest one), or a folder of Hugging Face")
      ->required();
  command->add_option("--prompt", options->prompt, "The text to go on from; - is standard input")->required();
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "tokenizer.json (file or folder) that the data were made with, or byte; default: the "
                   "one in the folder, or byte where the vocabulary has 256 tokens")
      ->type_name("PATH");
  command
      ->add_option("--max-tokens", options->most_tokens,
                   fmt::format("Tokens to add at most; default: {}", options->most_tokens))
      ->check(CLI::Range(1, 1'000'000));
  command
      ->add_option("--temperature", options->temperature,
                   "Draw tokens, the more evenly the higher; default 0: always the likeliest")
      ->check(NumberBetween(0, 1000));
  command->add_option(
      "--seed", options->seed,
      "Of what is drawn; the same seed gives the same text; default: a new one each time, which "
      "standard error tells");
  command
      ->add_option("--end-of-text", options->end_of_text,
                   "Token that ends the text, or none; default: what the folder says "
                   "(generation_config.json, config.json), "
                   "else those special tokens of the tokenizer that have a usual name, else the eos_token of "
                   "its tokenizer_config.json")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
