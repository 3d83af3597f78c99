#include "common/schema/document.h"

#include <algorithm>

namespace caravan::schema {

Node* find_entry(Node& node, const std::string& key) {
  if (node.kind != NodeKind::kMap) return nullptr;
  const auto found = std::find_if(node.children.begin(), node.children.end(),
                                  [&](const Node& child) { return child.key == key; });
  return found == node.children.end() ? nullptr : &*found;
}

const Node* find_entry(const Node& node, const std::string& key) {
  return find_entry(const_cast<Node&>(node), key);
}

}  // namespace caravan::schema
