#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "cli/arguments/choice.h"
#include "cli/check_layout.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/follow_job.h"
#include "cli/cluster/print_jobs.h"
#include "cli/load_job.h"
#include "cli/say.h"
#include "common/json.h"
#include "common/standard_stream.h"
#include "kube/api/object.h"
#include "operator/api/missing_claim.h"

namespace caravan::cli {
namespace {

struct SubmitOptions {
  ClusterOptions cluster;
  std::string path;
  std::vector<std::string> sets;
  bool watch = false;
  bool try_out = false;
  std::string output = "text";
};

Result<LoadedJob> load(const SubmitOptions& options) {
  auto loaded = load_job(options.path, options.sets, Naming::kByServer);
  if (!loaded) return loaded;
  for (const std::string& note : loaded->notes) fmt::print(stderr, "{}\n", note);
  const v1alpha1::JobSpec& spec = loaded->job.spec();
  const Status possible = check_layout(input_name(options.path), spec);
  if (!possible) return tl::unexpected(possible.error());
  if (const std::string missing = controller::missing_claim(spec); !missing.empty())
    return bad_input(fmt::format("{}: {}; `caravan init --kubernetes CLAIM` writes a job for a cluster",
                                 input_name(options.path), missing));
  if (spec.data().claim_name().empty())
    say(stderr,
        "{}: spec.data.claimName is not set: spec.data.path names files of the worker's image, not of a "
        "volume\n",
        input_name(options.path));
  return loaded;
}

Status check_namespace(const SubmitOptions& options, const LoadedJob& loaded) {
  const std::string& stated = loaded.job.metadata().namespace_();
  if (stated.empty() || options.cluster.name_space.empty() || stated == options.cluster.name_space) return {};
  return bad_input(
      fmt::format("{}: metadata.namespace: it says {}, and --namespace {}; leave one of them out",
                  input_name(options.path), stated, options.cluster.name_space));
}

void tell(const kube::Json& job, const SubmitOptions& options, Clock& clock) {
  if (options.output != "text") return print_job(job, options.output, clock);
  const kube::ObjectKey key = kube::key_of(job);
  if (options.try_out) {
    say("job {} would be taken by the server, in namespace {}\n", key.name, key.name_space);
    return;
  }
  say("job {} submitted in namespace {}\n", key.name, key.name_space);
  if (!options.watch)
    say("`caravan wait {0}{1}` follows it, `caravan doctor {0}{1}` says what it waits for\n", key.name,
        place_options(key.name_space, options.cluster.context));
}

Result<ExitCode> submit(const SubmitOptions& options) {
  const auto loaded = load(options);
  if (!loaded) return tl::unexpected(loaded.error());
  if (Status fits = check_namespace(options, *loaded); !fits) return tl::unexpected(fits.error());
  const auto object = kube::parse_json(to_json(loaded->job), input_name(options.path));
  if (!object) return tl::unexpected(object.error());
  ClusterOptions where = options.cluster;
  if (where.name_space.empty()) where.name_space = loaded->job.metadata().namespace_();
  const auto cluster = Cluster::connect(where);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto created = (*cluster)->create(*object, options.try_out);
  if (!created) return tl::unexpected(created.error());
  tell(*created, options, (*cluster)->clock());
  if (!options.watch || options.try_out) return ExitCode::kDone;
  std::fflush(stdout);
  return follow_job(**cluster, kube::key_of(*created).name,
                    {.news = options.output == "text" ? stdout : stderr});
}

}  // namespace

void add_submit_command(CLI::App& app, Action& action) {
  const auto options = std::make_shared<SubmitOptions>();
  CLI::App* command = app.add_subcommand("submit", "Checks a job file and gives the job to a cluster.");
  command->add_option("FILE", options->path, "Job file, YAML or JSON; - is standard input")->required();
  command->add_option("--set", options->sets, "Overrule a field, such as spec.training.steps=100")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--watch", options->watch, "Follow the job, and end with its exit code");
  command->add_flag("--dry-run", options->try_out, "Have the server judge the job, and keep nothing");
  add_output_option(*command, options->output, {"text", "json", "yaml", "name"},
                    "What is printed of the job that there is now");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return submit(*options); }; });
}

}  // namespace caravan::cli
