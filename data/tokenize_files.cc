#include "data/tokenize_files.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <utility>

#include "common/standard_stream.h"
#include "data/text_source.h"
#include "data/token_writer.h"
#include "data/tokenize_text.h"

namespace caravan::data {
namespace {

namespace fs = std::filesystem;

// Also finds what cannot be read before the work begins. A pipe is left alone: opening it twice would end its
// writer.
Result<std::optional<int64_t>> total_bytes(const std::vector<std::string>& texts) {
  std::optional<int64_t> total = 0;
  for (const std::string& text : texts) {
    std::error_code ignored;
    if (text == kStandardStream || fs::is_other(text, ignored)) {
      total.reset();
      continue;
    }
    const Result<TextSource> source = TextSource::open(text);
    if (!source) return tl::unexpected(source.error());
    if (total) *total += source->size().value_or(0);
  }
  return total;
}

struct Outputs {
  TokenWriter train;
  std::optional<TokenWriter> validation;
};

// Whichever way leads to its folder. Of the name itself no link is followed: a file that gets it takes the
// link's place.
fs::path place_of(const fs::path& file) {
  std::error_code error;
  const fs::path folder = fs::canonical(file.has_parent_path() ? file.parent_path() : fs::path("."), error);
  return error ? file : folder / file.filename();
}

Status check_outputs(const TokenizeRequest& request) {
  if (request.output.empty()) return bad_input("the token file to write has an empty name; give it one");
  for (const std::string& output : {request.output, request.validation_output})
    if (output == kStandardStream) return bad_input(refusal_of_standard_output("a token file"));
  for (const std::string& text : request.texts) {
    for (const std::string& output : {request.output, request.validation_output}) {
      std::error_code is_not_there;
      if (fs::equivalent(text, output, is_not_there))
        return bad_input(fmt::format("{}: is a text that is read; give the token file another name", output));
    }
  }
  if (request.validation_output.empty()) return {};
  if (place_of(request.output) == place_of(request.validation_output)) {
    return bad_input(fmt::format("{}: is the output for training and for validation; give two names",
                                 request.validation_output));
  }
  if (request.validation_fraction > 0 && request.validation_fraction < 1) return {};
  return bad_input(fmt::format("the validation fraction is {}; give one between 0 and 1, such as 0.05",
                               request.validation_fraction));
}

Result<Outputs> create_outputs(const TokenizeRequest& request, TokenType type) {
  Result<TokenWriter> train = TokenWriter::create(request.output, type, request.replace);
  if (!train) return tl::unexpected(train.error());
  Outputs outputs{.train = std::move(*train), .validation = std::nullopt};
  if (request.validation_output.empty()) return outputs;
  Result<TokenWriter> validation = TokenWriter::create(request.validation_output, type, request.replace);
  if (!validation) return tl::unexpected(validation.error());
  outputs.validation.emplace(std::move(*validation));
  return outputs;
}

Status add(TokenWriter& writer, std::optional<uint32_t> token) {
  return token ? writer.add(*token) : Status{};
}

Status split_validation(const TokenizeRequest& request, Outputs& outputs) {
  const int64_t tokens = outputs.train.tokens();
  if (tokens == 0) return bad_input("the texts hold no tokens; give texts that are not empty");
  if (!outputs.validation) return {};
  const int64_t count = std::llround(static_cast<double>(tokens) * request.validation_fraction);
  if (count == 0 || count == tokens) {
    return bad_input(fmt::format(
        "{}: {} tokens and a validation fraction of {} leave one of the two files empty; give more "
        "text or another fraction",
        request.validation_output, tokens, request.validation_fraction));
  }
  return outputs.train.move_tail(count, *outputs.validation);
}

tl::unexpected<Error> with_remark(const Error& error, const std::string& remark) {
  return tl::unexpected<Error>(Error{fmt::format("{}; {}", error.message, remark), error.code});
}

// A full disk is told of before either has its name, and each has its own before one cannot be made durable.
Status commit(TokenWriter& train, TokenWriter& validation, bool replace) {
  if (Status complete = train.complete(); !complete) return complete;
  if (Status complete = validation.complete(); !complete) return complete;
  if (Status named = validation.give_name(); !named) return named;
  if (Status named = train.give_name(); !named) {
    if (replace) return with_remark(named.error(), validation.path() + " has been written");
    std::error_code ignored;
    fs::remove(validation.path(), ignored);
    return named;
  }
  const Status durable = validation.sync_name().and_then([&] { return train.sync_name(); });
  if (durable) return {};
  return with_remark(durable.error(),
                     fmt::format("{} and {} have been written", train.path(), validation.path()));
}

Status commit(Outputs& outputs, bool replace) {
  return outputs.validation ? commit(outputs.train, *outputs.validation, replace) : outputs.train.commit();
}

}  // namespace

Result<TokenizeSummary> tokenize_files(const Tokenizer& tokenizer, const TokenizeRequest& request,
                                       int stop_fd,
                                       const std::function<void(const TokenizeProgress&)>& report) {
  if (Status valid = check_outputs(request); !valid) return tl::unexpected(valid.error());
  const Result<std::optional<int64_t>> total = total_bytes(request.texts);
  if (!total) return tl::unexpected(total.error());
  TokenizeSummary summary{.type = token_type_for(tokenizer.vocabulary())};
  Result<Outputs> outputs = create_outputs(request, summary.type);
  if (!outputs) return tl::unexpected(outputs.error());

  const auto sink = [&](std::span<const Token> tokens, int64_t bytes) -> Status {
    for (const Token& token : tokens) {
      if (Status added = outputs->train.add(token.id); !added) return added;
    }
    report({.bytes = summary.bytes + bytes, .total_bytes = *total, .tokens = outputs->train.tokens()});
    return {};
  };
  for (const std::string& text : request.texts) {
    Result<TextSource> source = TextSource::open(text, stop_fd);
    if (!source) return tl::unexpected(source.error());
    if (Status added = add(outputs->train, request.begin_of_text); !added)
      return tl::unexpected(added.error());
    const Result<int64_t> bytes = tokenize_text(tokenizer, *source, sink);
    if (!bytes) return tl::unexpected(bytes.error());
    if (Status added = add(outputs->train, request.end_of_text); !added) return tl::unexpected(added.error());
    summary.bytes += *bytes;
    ++summary.documents;
  }

  if (Status split = split_validation(request, *outputs); !split) return tl::unexpected(split.error());
  if (Status committed = commit(*outputs, request.replace); !committed)
    return tl::unexpected(committed.error());
  summary.tokens = outputs->train.tokens();
  summary.validation_tokens = outputs->validation ? outputs->validation->tokens() : 0;
  return summary;
}

}  // namespace caravan::data
