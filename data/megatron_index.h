// The index of a Megatron-LM dataset (`.idx`), which describes the raw tokens of the `.bin` beside it.
//
//   "MMIDIDX\0\0", u64 version 1, u8 token type, u64 sequences, u64 document entries,
//   i32 length of each sequence in tokens, i64 byte position of each sequence, i64 first sequence of each
//   document
//
// The sequences must stand one after another and fill the `.bin`, as Megatron's own writer leaves them; the
// dataset is then one run of tokens. The index is checked in pieces, so memory stays constant.
#pragma once

#include <string>

#include "common/result.h"
#include "data/input_file.h"
#include "data/token_format.h"

namespace caravan::data {

// Reads the index at `index_path` and checks all of it against the size of `tokens`, the `.bin`.
Result<TokenLayout> read_megatron_index(const std::string& index_path, const InputFile& tokens);

}  // namespace caravan::data
