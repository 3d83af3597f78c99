#include "operator/controller/node_reader.h"

#include <utility>

namespace caravan::controller {

// Nodes tell of themselves all the time.
bool NodeReader::change(const kube::Change& node) {
  const bool both = node.before && node.after;
  if (both && read_node(node.before->parse()) == read_node(node.after->parse())) return false;
  const std::scoped_lock lock(mutex_);
  read_.reset();
  return true;
}

// Whoever asks meanwhile waits, rather than read them, too.
SharedNodes NodeReader::read(const kube::Store& nodes) const {
  const std::scoped_lock lock(mutex_);
  if (read_) return read_;
  std::vector<NodeView> views;
  for (const kube::ObjectPtr& node : nodes.all()) views.push_back(read_node(node->parse()));
  read_ = std::make_shared<const std::vector<NodeView>>(std::move(views));
  return read_;
}

}  // namespace caravan::controller
