#include "operator/api/document_tree.h"

#include <boost/json/serialize.hpp>

namespace caravan::controller {

using schema::Node;
using schema::NodeKind;

Node to_node(const kube::Json& value, std::string key) {
  Node node{.kind = NodeKind::kScalar, .text = {}, .quoted = false, .key = std::move(key), .children = {}};
  switch (value.kind()) {
    case boost::json::kind::null:
      node.kind = NodeKind::kNull;
      break;
    case boost::json::kind::object:
      node.kind = NodeKind::kMap;
      for (const auto& entry : value.get_object())
        node.children.push_back(to_node(entry.value(), std::string(entry.key())));
      break;
    case boost::json::kind::array:
      node.kind = NodeKind::kList;
      for (const kube::Json& item : value.get_array()) node.children.push_back(to_node(item, ""));
      break;
    case boost::json::kind::string:
      node.quoted = true;
      node.text = std::string(value.get_string());
      break;
    default:
      node.text = boost::json::serialize(value);
  }
  return node;
}

}  // namespace caravan::controller
