// Parts of messages to users: quoted values, lists of words, "did you mean".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace caravan::schema {

// In double quotes, escaped, cut to a readable length: safe to print whatever a file holds.
std::string in_quotes(std::string_view text);

// The name within a path, quoted where it is not plain.
std::string child_path(std::string_view path, std::string_view name);

// "a, b, c"
std::string joined(const std::vector<std::string>& words);

// The candidate that `name` most likely means, without regard to case, '_' and '-': the first that begins
// with it, else the nearest by edit distance, where one is near.
std::optional<std::string> closest_match(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace caravan::schema
