#include <fmt/format.h>

#include <memory>

#include "cli/arguments/choice.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/print_jobs.h"

namespace caravan::cli {
namespace {

struct ListOptions {
  ClusterOptions cluster;
  bool everywhere = false;
  std::string selector;
  std::string output = "text";
};

Result<ExitCode> list_jobs(const ListOptions& options) {
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto jobs = (*cluster)->jobs(options.everywhere, options.selector);
  if (!jobs) return tl::unexpected(jobs.error());
  if (jobs->empty() && (options.output == "text" || options.output == "wide")) {
    const std::string where =
        options.everywhere ? "the cluster" : fmt::format("namespace {}", (*cluster)->name_space());
    fmt::print(stderr, "{} has no job{}\n", where, options.selector.empty() ? "" : " with those labels");
    return ExitCode::kDone;
  }
  print_jobs(*jobs, options.output, options.everywhere, (*cluster)->clock());
  return ExitCode::kDone;
}

}  // namespace

void add_list_jobs_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand("list", "The jobs of a namespace: state, layout, progress, MFU.");
  command->add_flag("-A,--all-namespaces", options->everywhere, "Those of all namespaces");
  command->add_option("-l,--selector", options->selector, "Those with these labels, such as team=nlp")
      ->type_name("LABELS");
  add_output_option(*command, options->output, kJobForms, "Form of what is printed");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return list_jobs(*options); }; });
}

}  // namespace caravan::cli
