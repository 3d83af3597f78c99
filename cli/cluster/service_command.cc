#include <fmt/format.h>

#include <memory>

#include "cli/cluster/commands.h"
#include "cli/cluster/service_root.h"

namespace caravan::cli {
namespace {

Result<ExitCode> print_root(const ClusterOptions& options) {
  const auto server = ApiServer::connect(options);
  if (!server) return tl::unexpected(server.error());
  const auto root = fetch_service_root(**server, (*server)->name_space());
  if (!root) return tl::unexpected(root.error());
  fmt::print("{}", *root);
  return ExitCode::kDone;
}

}  // namespace

void add_service_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ClusterOptions>();
  options->name_space = kUsualNamespace;
  CLI::App* service = app.add_subcommand("service", "What callers of the job service need.");
  service->require_subcommand(0, 1);
  CLI::App* root = service->add_subcommand(
      "root", "Prints the authority of the job service's certificate, in PEM, for curl, grpcurl and Python.");
  root->add_option("-n,--namespace", options->name_space, "Where the job service is installed")
      ->type_name("NAME")
      ->capture_default_str();
  add_kubeconfig_options(*root, *options);
  root->callback([options, &action] { action = [options] { return print_root(*options); }; });
}

}  // namespace caravan::cli
