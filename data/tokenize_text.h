// Tokenizes a text of any size in constant memory, on all cores; the tokens are those of the whole text.
//
// Where two windows of a text agree on no tokens (thousands of characters without structure), the later one
// is tokenized again: from the beginning of a token on that the earlier one has there, and if that is of no
// avail, as with tokenizers that put a space before what they are given, with more of the text before it, up
// to a window. If they agree on none even so (such a tokenizer, one that lacks some numbers of three digits
// that it groups by, or a Unigram model; and a run longer than a window), the text is cut there as if another
// one began: no character is lost or doubled. Errors: those of the source, of the tokenizer and of the sink.
#pragma once

#include <functional>
#include <span>

#include "common/processors.h"
#include "common/result.h"
#include "data/text_source.h"
#include "data/text_windows.h"
#include "data/tokenizer.h"

namespace caravan::data {

// Takes tokens in order. `bytes` of the text are read so far.
using TokenSink = std::function<Status(std::span<const Token> tokens, int64_t bytes)>;

// One for each processor, but no more than the one thread that reads and joins can keep at work.
int tokenizing_threads(int processors);

// Gives the bytes of the text. threads: as many windows are tokenized at once.
Result<int64_t> tokenize_text(const Tokenizer& tokenizer, TextSource& source, const TokenSink& sink,
                              const WindowSizes& sizes = {},
                              int threads = tokenizing_threads(usable_processors()));

}  // namespace caravan::data
