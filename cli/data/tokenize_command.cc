#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/arguments/choice.h"
#include "cli/data/commands.h"
#include "cli/data/load_tokenizer.h"
#include "cli/data/tokenize_bar.h"
#include "common/json.h"
#include "common/process.h"
#include "common/readable_bytes.h"
#include "common/readable_integer.h"
#include "data/tokenize_files.h"
#include "data/tokenizer.h"

namespace caravan::cli {
namespace {

struct TokenizeOptions {
  std::string tokenizer;
  std::string end_of_text;  // empty: the tokenizer's own (load_tokenizer.h)
  std::string begin_of_text = "none";
  data::TokenizeRequest request;
  std::string form = "text";
};

std::string describe_ends(const LoadedTokenizer& loaded) {
  const auto& [tokenizer, begin, end] = loaded;
  if (begin && end) return fmt::format("token {} begins and token {} ends a document", *begin, *end);
  if (begin) return fmt::format("token {} begins a document", *begin);
  if (end) return fmt::format("token {} ends a document", *end);
  return "no token between documents";
}

void print_text(const TokenizeOptions& options, const data::TokenizeSummary& summary,
                const LoadedTokenizer& loaded) {
  const std::string_view type = data::to_string(summary.type);
  fmt::print("{}: {} tokens ({})\n", options.request.output, readable_integer(summary.tokens), type);
  if (summary.validation_tokens > 0) {
    fmt::print("{}: {} tokens ({})\n", options.request.validation_output,
               readable_integer(summary.validation_tokens), type);
  }
  const int64_t tokens = summary.tokens + summary.validation_tokens;
  fmt::print("{} document{}, {}, {} tokens, {:.2f} bytes per token, vocabulary {}, {}\n",
             readable_integer(summary.documents), summary.documents == 1 ? "" : "s",
             readable_bytes(summary.bytes), readable_integer(tokens),
             static_cast<double>(summary.bytes) / static_cast<double>(tokens),
             readable_integer(loaded.tokenizer->vocabulary()), describe_ends(loaded));
  fmt::print("a job on these tokens has spec.model.vocabSize {}, unless its preset has as many already\n",
             loaded.tokenizer->vocabulary());
}

std::string json_or_null(std::optional<uint32_t> token) {
  return token ? std::to_string(*token) : "null";
}

void print_json(const TokenizeOptions& options, const data::TokenizeSummary& summary,
                const LoadedTokenizer& loaded) {
  const bool is_split = summary.validation_tokens > 0;
  fmt::print(
      R"({{"file":{},"tokens":{},"validationFile":{},"validationTokens":{},"type":"{}","documents":{},)"
      R"("bytes":{},"vocabSize":{},"beginOfText":{},"endOfText":{}}})"
      "\n",
      json_string(options.request.output), summary.tokens,
      is_split ? json_string(options.request.validation_output) : "null", summary.validation_tokens,
      data::to_string(summary.type), summary.documents, summary.bytes, loaded.tokenizer->vocabulary(),
      json_or_null(loaded.begin_of_text), json_or_null(loaded.end_of_text));
}

Result<data::TokenizeSummary> tokenize(const TokenizeOptions& options, const LoadedTokenizer& loaded) {
  // Signals end the work where it can still tidy up; a file size limit is an error of the write.
  const Result<UniqueFd> stop = signals_as_descriptor({SIGINT, SIGTERM, SIGHUP});
  if (!stop) return tl::unexpected(stop.error());
  std::signal(SIGXFSZ, SIG_IGN);
  data::TokenizeRequest request = options.request;
  request.begin_of_text = loaded.begin_of_text;
  request.end_of_text = loaded.end_of_text;
  TokenizeBar bar(stderr);
  return data::tokenize_files(*loaded.tokenizer, request, stop->get(),
                              [&bar](const data::TokenizeProgress& progress) { bar.show(progress); });
}

// Bytes have no such token.
void warn_of_joined_documents(const TokenizeOptions& options, const LoadedTokenizer& loaded) {
  const bool was_sought = options.end_of_text.empty() && !loaded.tokenizer->byte_level();
  const bool is_joined = !loaded.begin_of_text && !loaded.end_of_text && options.request.texts.size() > 1;
  if (!was_sought || !is_joined) return;
  fmt::print(
      stderr,
      "warning: nothing will stand between the documents: {} has no token with a usual name for the end "
      "of a text, and no tokenizer_config.json beside it names one; --end-of-text names one, or none\n",
      options.tokenizer);
}

Result<ExitCode> run(const TokenizeOptions& options) {
  const Result<LoadedTokenizer> loaded =
      load_tokenizer(options.tokenizer, options.end_of_text, options.begin_of_text);
  if (!loaded) return tl::unexpected(loaded.error());
  warn_of_joined_documents(options, *loaded);
  const Result<data::TokenizeSummary> summary = tokenize(options, *loaded);
  if (!summary) return tl::unexpected(summary.error());
  options.form == "json" ? print_json(options, *summary, *loaded) : print_text(options, *summary, *loaded);
  return ExitCode::kDone;
}

}  // namespace

void add_tokenize_command(CLI::App& data, Action& action) {
  const auto options = std::make_shared<TokenizeOptions>();
  data::TokenizeRequest& request = options->request;
  CLI::App* command = data.add_subcommand("tokenize", "Makes a token file out of texts.");
  command->add_option("TEXT", request.texts, "Text files, each a document; - is standard input")->required();
  command
      ->add_option("--tokenizer", options->tokenizer,
                   "tokenizer.json of Hugging Face (file or folder), or byte: a token's id is the byte")
      ->required()
      ->type_name("PATH");
  command->add_option("--to", request.output, "Token file to write")->required()->type_name("FILE");
  CLI::Option* fraction = command->add_option("--validation-fraction", request.validation_fraction,
                                              "Last part of the tokens, for validation, such as 0.05");
  CLI::Option* validation =
      command->add_option("--validation-to", request.validation_output, "Token file for that part")
          ->type_name("FILE");
  fraction->needs(validation);
  validation->needs(fraction);
  command
      ->add_option("--end-of-text", options->end_of_text,
                   "Token that ends each document, or none; left out: the tokenizer's own, if it has one")
      ->type_name("NAME");
  command
      ->add_option("--begin-of-text", options->begin_of_text,
                   "Token that begins each document, or none; default: none")
      ->type_name("NAME");
  command->add_flag("--force", request.replace, "Replace files that exist");
  add_output_option(*command, options->form, {"text", "json"}, "Form of the summary that is printed");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace caravan::cli
