// Reads YAML, and JSON as its subset, into a plain tree with line numbers.
//
// Strict, because a job file may come from anybody: one document of at most 1 MiB, valid UTF-8 without NUL,
// at most 64 levels, keys that are plain text; no anchors, aliases or tags. The first violation is the error
// (bad input), as `NAME:LINE: what is wrong`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/schema/document.h"

namespace caravan::cli {

inline constexpr std::size_t kMaximumYamlBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaximumYamlDepth = 64;

// name: what the text is called in messages, such as its path.
Result<schema::Node> read_yaml(std::string_view text, const std::string& name);

// path: of a file, or kStandardStream (common/standard_stream.h), which can be read once. At most a little
// more than kMaximumYamlBytes.
Result<std::string> read_input(const std::string& path);
Result<schema::Node> read_yaml_file(const std::string& path);

}  // namespace caravan::cli
