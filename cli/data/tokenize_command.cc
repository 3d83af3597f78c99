#include "cli/data/tokenize_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/data/tokenize_bar.h"
#include "cli/data/tokenizer_json.h"
#include "cli/run/figures.h"
#include "common/process.h"
#include "data/tokenize_files.h"
#include "data/tokenizer.h"

namespace caravan::cli {
namespace {

// What the tokens that end a document are called in well-known tokenizers: Llama 3, GPT-2 and Qwen, Llama 2,
// Gemma.
constexpr std::array<std::string_view, 4> kEndOfText{"<|end_of_text|>", "<|endoftext|>", "</s>", "<eos>"};

struct Options {
  std::string tokenizer;
  std::string end_of_text;  // empty: one of the well-known names, if the tokenizer has it
  data::TokenizeRequest request;
};

struct LoadedTokenizer {
  std::unique_ptr<data::Tokenizer> tokenizer;
  std::optional<uint32_t> end_of_text;
};

Result<std::optional<uint32_t>> find_end_of_text(const TokenizerJson& tokenizer, const Options& options) {
  if (options.end_of_text == "none") return std::nullopt;
  if (!options.end_of_text.empty()) {
    const std::optional<uint32_t> id = tokenizer.id_of(options.end_of_text);
    if (id) return id;
    return bad_input(fmt::format("--end-of-text: {} has no token {}; give one that it has, or none",
                                 options.tokenizer, options.end_of_text));
  }
  for (const std::string_view name : kEndOfText) {
    if (const std::optional<uint32_t> id = tokenizer.id_of(name)) return id;
  }
  return std::nullopt;
}

Result<LoadedTokenizer> load_tokenizer(const Options& options) {
  if (options.tokenizer == "byte") {
    if (options.end_of_text.empty() || options.end_of_text == "none") {
      return LoadedTokenizer{.tokenizer = std::make_unique<data::ByteTokenizer>(),
                             .end_of_text = std::nullopt};
    }
    return bad_input(
        "--end-of-text: the byte tokenizer has no such token; leave the option out, or give none");
  }
  Result<TokenizerJson> tokenizer = TokenizerJson::open(options.tokenizer);
  if (!tokenizer) return tl::unexpected(tokenizer.error());
  const Result<std::optional<uint32_t>> end_of_text = find_end_of_text(*tokenizer, options);
  if (!end_of_text) return tl::unexpected(end_of_text.error());
  return LoadedTokenizer{.tokenizer = std::make_unique<TokenizerJson>(std::move(*tokenizer)),
                         .end_of_text = *end_of_text};
}

void print_summary(const Options& options, const data::TokenizeSummary& summary,
                   const LoadedTokenizer& loaded) {
  const auto count = [](int64_t number) { return readable_count(static_cast<double>(number)); };
  const std::string_view type = data::to_string(summary.type);
  fmt::print("{}: {} tokens ({})\n", options.request.output, count(summary.tokens), type);
  if (summary.validation_tokens > 0) {
    fmt::print("{}: {} tokens ({})\n", options.request.validation_output, count(summary.validation_tokens),
               type);
  }
  const int64_t tokens = summary.tokens + summary.validation_tokens;
  fmt::print("{} document{}, {} bytes, {} tokens, {:.2f} bytes per token, vocabulary {}, {}\n",
             count(summary.documents), summary.documents == 1 ? "" : "s", count(summary.bytes), count(tokens),
             static_cast<double>(summary.bytes) / static_cast<double>(tokens),
             count(loaded.tokenizer->vocabulary()),
             loaded.end_of_text ? fmt::format("token {} ends a document", *loaded.end_of_text)
                                : "no token between documents");
}

Result<data::TokenizeSummary> tokenize(const Options& options, const LoadedTokenizer& loaded) {
  // Signals end the work where it can still tidy up; a file size limit is an error of the write.
  const Result<UniqueFd> stop = signals_as_descriptor({SIGINT, SIGTERM, SIGHUP});
  if (!stop) return tl::unexpected(stop.error());
  std::signal(SIGXFSZ, SIG_IGN);
  data::TokenizeRequest request = options.request;
  request.end_of_text = loaded.end_of_text;
  TokenizeBar bar(stderr);
  return data::tokenize_files(*loaded.tokenizer, request, stop->get(),
                              [&bar](const data::TokenizeProgress& progress) { bar.show(progress); });
}

Result<ExitCode> run(const Options& options) {
  const Result<LoadedTokenizer> loaded = load_tokenizer(options);
  if (!loaded) return tl::unexpected(loaded.error());
  const Result<data::TokenizeSummary> summary = tokenize(options, *loaded);
  if (!summary) return tl::unexpected(summary.error());
  print_summary(options, *summary, *loaded);
  return ExitCode::kDone;
}

}  // namespace

void add_tokenize_command(CLI::App& data, Action& action) {
  const auto options = std::make_shared<Options>();
  data::TokenizeRequest& request = options->request;
  CLI::App* command = data.add_subcommand("tokenize", "Makes a token file out of texts.");
  command->add_option("TEXT", request.texts, "Text files, each a document; - is standard input")->required();
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "tokenizer.json of Hugging Face (file or folder), or byte: a token's id is the byte")
      ->required();
  command->add_option("-o,--output", request.output, "Token file to write")->required();
  CLI::Option* fraction = command->add_option("--validation-fraction", request.validation_fraction,
                                              "Last part of the tokens, for validation, such as 0.05");
  CLI::Option* validation =
      command->add_option("--validation-output", request.validation_output, "Token file for that part");
  fraction->needs(validation);
  validation->needs(fraction);
  command->add_option(
      "--end-of-text", options->end_of_text,
      "Token that ends each document, or none; left out: the tokenizer's own, if it has a usual name");
  command->add_flag("--force", request.replace, "Replace files that exist");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
