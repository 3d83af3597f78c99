// Plays scheduler and kubelet for the pods of one namespace, which never run. A call that is refused fails
// the test.
#pragma once

#include <string>

#include "kube/client/client.h"

namespace caravan::kube::testing {

class Kubelet {
 public:
  Kubelet(Client& client, std::string name_space) : client_(client), name_space_(std::move(name_space)) {}

  void bind(const std::string& pod);
  void mark(const std::string& pod, JsonObject status);
  // The pod is deleted and ends at once.
  void let_go(const std::string& pod);

 private:
  ResourcePath pods() const { return {.resource = kPods, .name_space = name_space_}; }

  Client& client_;
  std::string name_space_;
};

}  // namespace caravan::kube::testing
