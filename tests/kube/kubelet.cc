#include "tests/kube/kubelet.h"

#include <gtest/gtest.h>

namespace caravan::kube::testing {

void Kubelet::bind(const std::string& pod) {
  const Resource bindings{.group = "", .version = "v1", .plural = "bindings"};
  const auto bound = client_.create(
      {}, {.resource = bindings, .name_space = name_space_},
      JsonObject{{"apiVersion", "v1"},
                 {"kind", "Binding"},
                 {"metadata", JsonObject{{"name", pod}}},
                 {"target", JsonObject{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "machine"}}}});
  ASSERT_TRUE(bound) << bound.error().message;
}

void Kubelet::mark(const std::string& pod, JsonObject status) {
  const Json intent = JsonObject{{"apiVersion", "v1"},
                                 {"kind", "Pod"},
                                 {"metadata", JsonObject{{"name", pod}, {"namespace", name_space_}}},
                                 {"status", std::move(status)}};
  const auto marked = client_.apply_status({}, pods(), intent);
  ASSERT_TRUE(marked) << marked.error().message;
}

void Kubelet::let_go(const std::string& pod) {
  const auto gone = client_.remove({}, pods(), pod, {.grace_period_seconds = 0});
  ASSERT_TRUE(gone) << gone.error().message;
}

}  // namespace caravan::kube::testing
