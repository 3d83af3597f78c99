// What a YAML or JSON text says, as a plain tree without any library's types, and a remark about a place in
// it. The loader turns the tree into a message.
#pragma once

#include <string>
#include <vector>

namespace caravan::schema {

enum class NodeKind { kNull, kScalar, kList, kMap };

struct Node {
  NodeKind kind = NodeKind::kNull;
  std::string text;     // of a scalar
  bool quoted = false;  // a quoted scalar is a string, whatever it looks like
  std::string key;      // of a map's entry; equal keys may occur
  int line = 0;         // from 1, of a map's entry that of its key; 0: given on the command line
  std::vector<Node> children;
};

// The first entry of a map with that key; null when there is none or `node` is no map.
const Node* find_entry(const Node& node, const std::string& key);
Node* find_entry(Node& node, const std::string& key);

struct Diagnostic {
  int line = 0;      // 0: given on the command line
  std::string path;  // spec.training.steps; empty for the text as a whole
  std::string text;
  bool operator==(const Diagnostic&) const = default;
};

}  // namespace caravan::schema
