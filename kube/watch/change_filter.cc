#include "kube/watch/change_filter.h"

#include <algorithm>
#include <array>

namespace caravan::kube {
namespace {

constexpr std::array<std::string_view, 6> kAsksForSomething{"uid",        "generation", "deletionTimestamp",
                                                            "finalizers", "labels",     "annotations"};

bool same(const Json* left, const Json* right) {
  if (left == nullptr || right == nullptr) return left == right;
  return *left == *right;
}

}  // namespace

bool is_more_than_status(const Change& change) {
  if (change.before == nullptr || change.after == nullptr) return true;
  const Json before = change.before->parse();
  const Json after = change.after->parse();
  return std::any_of(kAsksForSomething.begin(), kAsksForSomething.end(), [&](std::string_view field) {
    return !same(find(before, {"metadata", field}), find(after, {"metadata", field}));
  });
}

}  // namespace caravan::kube
