// What must hold for any bytes that stand where a token file should be.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/testing/temporary_folder.h"

namespace caravan::fuzz {

std::string_view as_text(std::span<const std::uint8_t> bytes);

// Opens tokens.bin of the folder: an error is bad input and names a file of the folder; a dataset gives every
// token, however it is read.
void check_dataset(const test::TemporaryFolder& folder);

}  // namespace caravan::fuzz
