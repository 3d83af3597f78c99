// The nodes of the cluster as decisions see them, read once for all who ask until one of them changes in what
// is read: there may be thousands of nodes, and of jobs that wait for room. Safe for any thread.
#pragma once

#include <mutex>

#include "kube/watch/store.h"
#include "operator/view/node_view.h"

namespace caravan::controller {

class NodeReader {
 public:
  // Every one of the store of nodes, once it is there. False: nothing that is read has changed.
  bool change(const kube::Change& node);
  // By name; never null.
  SharedNodes read(const kube::Store& nodes) const;

 private:
  mutable std::mutex mutex_;
  mutable SharedNodes read_;  // null: they are to be read
};

}  // namespace caravan::controller
