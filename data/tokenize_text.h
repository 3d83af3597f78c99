// Tokenizes a text of any size in constant memory, on all cores; the tokens are those of the whole text.
//
// Where two windows of a text agree on no tokens (thousands of characters without structure), the later one
// is tokenized again, from the beginning of a token on that the earlier one has there. If they agree on none
// even so, the text is cut there; nothing is lost or doubled. Errors: those of the source, of the tokenizer
// and of the sink.
#pragma once

#include <functional>
#include <span>

#include "common/result.h"
#include "data/text_source.h"
#include "data/text_windows.h"
#include "data/tokenizer.h"

namespace caravan::data {

// Takes tokens in order. `bytes` of the text are read so far.
using TokenSink = std::function<Status(std::span<const Token> tokens, int64_t bytes)>;

// Gives the bytes of the text.
Result<int64_t> tokenize_text(const Tokenizer& tokenizer, TextSource& source, const TokenSink& sink,
                              const WindowSizes& sizes = {});

}  // namespace caravan::data
