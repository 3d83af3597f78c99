#include "cli/cluster/service_root.h"

#include <fmt/format.h>

#include "kube/api/object.h"
#include "operator/api/names.h"

namespace caravan::cli {
namespace {

tl::unexpected<Error> no_root(const std::string& name_space) {
  return bad_input(fmt::format(
      "namespace {} has no ConfigMap {}: the job service is installed elsewhere (-n NAMESPACE), is "
      "not installed (service.enabled=true), or has a certificate that is not the operator's; then "
      "ask for its root whoever issued that one",
      name_space, controller::kServiceRoot));
}

tl::unexpected<Error> no_certificate(const std::string& name_space) {
  return bad_input(
      fmt::format("ConfigMap {} of namespace {} has no certificate as its {}; the operator's log says why",
                  controller::kServiceRoot, name_space, controller::kServiceRootKey));
}

}  // namespace

Result<std::string> fetch_service_root(ApiServer& server, const std::string& name_space) {
  const auto map = server.config_map(name_space, controller::kServiceRoot);
  if (!map && map.error().is_not_found()) return no_root(name_space);
  if (!map) return tl::unexpected(map.error());
  std::string root = kube::text_at(*map, {"data", controller::kServiceRootKey});
  if (!root.starts_with("-----BEGIN CERTIFICATE-----")) return no_certificate(name_space);
  return root;
}

}  // namespace caravan::cli
