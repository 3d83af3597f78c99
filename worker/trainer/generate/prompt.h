// The text to go on from, as caravan-generate is given it: numbers of tokens with spaces between them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"

namespace caravan::trainer {

// At least one, all below the vocabulary; else bad input, which names the word.
Result<std::vector<int64_t>> tokens_of(const std::string& prompt, int64_t vocabulary);

}  // namespace caravan::trainer
