#include <fmt/format.h>

#include <memory>

#include "cli/cluster/checkpoint_answer.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/commands.h"
#include "cli/cluster/durations.h"
#include "cli/cluster/job_news.h"
#include "cli/say.h"
#include "operator/api/job_conditions.h"
#include "operator/api/job_object.h"
#include "operator/api/names.h"

namespace caravan::cli {
namespace {

struct CheckpointNowOptions {
  ClusterOptions cluster;
  std::string name;
  bool wait = false;
  std::string timeout = "10m";
};

// A job that cannot answer is not asked.
Status check(const controller::Job& job) {
  if (end_of(job.status)) {
    return bad_input(fmt::format("job {} has ended ({}); it writes no checkpoint any more", job.key.name,
                                 job.status.state()));
  }
  if (!job.spec.has_checkpoint()) {
    return bad_input(
        fmt::format("job {} has no spec.checkpoint, so that there is no place for one", job.key.name));
  }
  return {};
}

// The operator writes the request into the status once it is answered, by a checkpoint or by its failure.
Result<ExitCode> await_answer(Cluster& cluster, const CheckpointNowOptions& options, CheckpointAnswer answer,
                              std::chrono::seconds timeout) {
  const Status followed = cluster.follow(
      options.name, cluster.clock().now() + timeout,
      [&](const kube::Json& object) { return answer.see(controller::read_job_but_spec(object)); });
  const v1alpha1::JobStatus& last = answer.status();
  if (!followed) {
    if (followed.error().code != kTimedOut) return tl::unexpected(followed.error());
    return tl::unexpected(Error{fmt::format("job {} has not answered after {} s; it is {}", options.name,
                                            timeout.count(), last.state()),
                                kTimedOut});
  }
  if (!answer.has_come())
    return failure(fmt::format("job {} ended before it wrote one ({})", options.name, words_of_end(last)));
  const v1alpha1::Condition* failing =
      controller::find_condition(last, controller::conditions::kCheckpointFailing);
  if (failing != nullptr && failing->status() == "True")
    return failure(fmt::format("job {}: the checkpoint failed: {}", options.name, failing->message()));
  const v1alpha1::CheckpointStatus& saved = last.last_checkpoint();
  say("job {}: checkpoint of step {} in {}\n", options.name, saved.step(), saved.path());
  return ExitCode::kDone;
}

Result<ExitCode> checkpoint_now(const CheckpointNowOptions& options) {
  const auto timeout = parse_duration(options.timeout, "--timeout");
  if (!timeout) return tl::unexpected(timeout.error());
  const auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return tl::unexpected(cluster.error());
  const auto object = (*cluster)->job(options.name);
  if (!object) return tl::unexpected(object.error());
  const controller::Job job = controller::read_job(*object);
  if (const Status able = check(job); !able) return tl::unexpected(able.error());
  const auto request = (*cluster)->ask_for_checkpoint(options.name);
  if (!request) return tl::unexpected(request.error());
  if (options.wait) return await_answer(**cluster, options, {*request, job.checkpoint_request}, *timeout);
  say("job {} was asked for a checkpoint; it writes one {}\n", options.name, time_of_checkpoint(job));
  return ExitCode::kDone;
}

}  // namespace

void add_checkpoint_now_command(CLI::App& checkpoint, Action& action) {
  const auto options = std::make_shared<CheckpointNowOptions>();
  CLI::App* command =
      checkpoint.add_subcommand("now", "Asks a job of a cluster for a checkpoint after the step at work.");
  add_job_argument(*command, options->name);
  CLI::Option* wait =
      command->add_flag("--wait", options->wait, "Wait until it is complete, and say where it is");
  command->add_option("--timeout", options->timeout, "Wait no longer than that, such as 90s or 15m")
      ->capture_default_str()
      ->needs(wait)
      ->type_name("DURATION");
  add_cluster_options(*command, options->cluster);
  command->callback([options, &action] { action = [options] { return checkpoint_now(*options); }; });
}

}  // namespace caravan::cli
