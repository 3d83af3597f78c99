#include "common/schema/crd/yaml_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "common/json.h"

namespace caravan::schema {
namespace {

Node node(NodeKind kind, std::string_view key) {
  Node made;
  made.kind = kind;
  made.key = key;
  return made;
}

// Narrow: letters first, then what has no meaning in YAML inside of a line; none of YAML 1.1's words for
// truth.
bool is_plain(std::string_view value) {
  constexpr std::array<std::string_view, 10> kWords = {"true", "false", "null", "yes", "no",
                                                       "on",   "off",   "y",    "n",   "nan"};
  if (value.empty() || std::isalpha(static_cast<unsigned char>(value.front())) == 0) return false;
  std::string lower(value);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (std::find(kWords.begin(), kWords.end(), lower) != kWords.end()) return false;
  return value.back() != ' ' && std::all_of(value.begin(), value.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  std::string_view(" .,;-_/()").find(c) != std::string_view::npos;
         });
}

std::string scalar_text(const Node& scalar) {
  return scalar.quoted && !is_plain(scalar.text) ? json_string(scalar.text) : scalar.text;
}

void write_entries(const Node& map, std::size_t indentation, std::string& out);

// A list's dash stands below its key, as kubectl writes it.
void write_items(const Node& list, std::size_t indentation, std::string& out) {
  for (const Node& item : list.children) {
    const std::string dash = std::string(indentation, ' ') + "- ";
    if (item.kind == NodeKind::kScalar) {
      out += fmt::format("{}{}\n", dash, scalar_text(item));
      continue;
    }
    const std::size_t start = out.size();
    write_entries(item, dash.size(), out);
    out.replace(start, dash.size(), dash);
  }
}

void write_entries(const Node& map, std::size_t indentation, std::string& out) {
  for (const Node& entry : map.children) {
    out += std::string(indentation, ' ') + (is_plain(entry.key) ? entry.key : json_string(entry.key)) + ":";
    if (entry.kind == NodeKind::kScalar) {
      out += fmt::format(" {}\n", scalar_text(entry));
    } else if (entry.children.empty()) {
      out += entry.kind == NodeKind::kMap ? " {}\n" : " []\n";
    } else {
      out += "\n";
      if (entry.kind == NodeKind::kMap) write_entries(entry, indentation + 2, out);
      if (entry.kind == NodeKind::kList) write_items(entry, indentation, out);
    }
  }
}

}  // namespace

Node literal(std::string_view key, std::string text) {
  Node made = node(NodeKind::kScalar, key);
  made.text = std::move(text);
  return made;
}

Node number(std::string_view key, std::int64_t value) {
  return literal(key, fmt::format("{}", value));
}

Node text(std::string_view key, std::string_view value) {
  Node made = literal(key, std::string(value));
  made.quoted = true;
  return made;
}

Node map(std::string_view key, std::vector<Node> entries) {
  Node made = node(NodeKind::kMap, key);
  made.children = std::move(entries);
  return made;
}

Node list(std::string_view key, std::vector<Node> items) {
  Node made = node(NodeKind::kList, key);
  made.children = std::move(items);
  return made;
}

Node text_list(std::string_view key, const std::vector<std::string>& values) {
  std::vector<Node> items;
  items.reserve(values.size());
  for (const std::string& value : values) items.push_back(text("", value));
  return list(key, std::move(items));
}

std::string write_yaml(const Node& map) {
  std::string out;
  write_entries(map, 0, out);
  return out;
}

}  // namespace caravan::schema
