// Makes trees of nodes and writes them as YAML: block style, two spaces, text in double quotes where it could
// be taken for something else. Same tree, same text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/schema/document.h"

namespace caravan::schema {

// A number, a boolean, or JSON in one line: written as it stands.
Node literal(std::string_view key, std::string text);
Node number(std::string_view key, std::int64_t value);
Node text(std::string_view key, std::string_view value);
Node map(std::string_view key, std::vector<Node> entries);
// Items need no key.
Node list(std::string_view key, std::vector<Node> items);
Node text_list(std::string_view key, const std::vector<std::string>& values);

std::string write_yaml(const Node& map);

}  // namespace caravan::schema
