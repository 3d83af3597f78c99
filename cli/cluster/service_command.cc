#include <fmt/format.h>

#include <memory>

#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "kube/api/object.h"
#include "operator/api/names.h"

namespace caravan::cli {
namespace {

// Where the chart and its installer put Caravan, unless told otherwise.
constexpr char kUsualNamespace[] = "caravan-system";

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

Result<ExitCode> print_root(const ClusterOptions& options) {
  const auto cluster = Cluster::connect(options);
  if (!cluster) return tl::unexpected(cluster.error());
  const std::string& name_space = (*cluster)->name_space();
  const auto map = (*cluster)->config_map(controller::kServiceRoot);
  if (!map && map.error().is_not_found()) return no_root(name_space);
  if (!map) return tl::unexpected(map.error());
  const std::string root = kube::text_at(*map, {"data", controller::kServiceRootKey});
  if (!root.starts_with("-----BEGIN CERTIFICATE-----")) return no_certificate(name_space);
  fmt::print("{}", root);
  return ExitCode::kDone;
}

}  // namespace

void add_service_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ClusterOptions>();
  options->name_space = kUsualNamespace;
  CLI::App* service = app.add_subcommand("service", "What callers of the job service need.");
  service->require_subcommand(1);
  CLI::App* root = service->add_subcommand(
      "root", "Prints the authority of the job service's certificate, in PEM, for curl, grpcurl and Python.");
  root->add_option("-n,--namespace", options->name_space, "Where the job service is installed")
      ->type_name("NAME")
      ->capture_default_str();
  add_kubeconfig_options(*root, *options);
  root->callback([options, &action] { action = [options] { return print_root(*options); }; });
}

}  // namespace caravan::cli
