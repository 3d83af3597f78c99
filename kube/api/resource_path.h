// Where a resource lives on the API server. Every part and every query value is percent-encoded.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace caravan::kube {

struct Resource {
  std::string group;  // empty: the core group
  std::string version;
  std::string plural;

  bool operator==(const Resource&) const = default;
};

// All objects of a resource, or those of one namespace.
struct ResourcePath {
  Resource resource;
  std::string name_space = {};  // empty: all namespaces, or a resource of the cluster

  bool operator==(const ResourcePath&) const = default;
};

inline const Resource kPods{.group = "", .version = "v1", .plural = "pods"};
inline const Resource kResourceQuotas{.group = "", .version = "v1", .plural = "resourcequotas"};
inline const Resource kLeases{.group = "coordination.k8s.io", .version = "v1", .plural = "leases"};
inline const Resource kEvents{.group = "events.k8s.io", .version = "v1", .plural = "events"};

std::string collection_path(const ResourcePath& path);
std::string object_path(const ResourcePath& path, std::string_view name, std::string_view subresource = {});

std::string percent_encoded(std::string_view text);

using Query = std::vector<std::pair<std::string, std::string>>;
// "?a=b&c=d"; parameters without a value are left out; empty when none is left.
std::string query_string(const Query& query);

}  // namespace caravan::kube
