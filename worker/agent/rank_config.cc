#include "worker/agent/rank_config.h"

#include "common/host_port.h"
#include "planner/job_shape.h"
#include "worker/agent/job_file.h"

namespace caravan::agent {
namespace {

// The coordinator, which knows what all ranks wait for, gives a gang up before one of them does.
constexpr std::chrono::seconds kBehindCoordinator{60};

}  // namespace

v1alpha1::RankConfig make_rank_config(const v1alpha1::JobPlan& job, const Master& master, int rank,
                                      const RankSettings& settings) {
  const planner::JobShape shape = planner::shape_of(job);
  v1alpha1::RankConfig config;
  config.set_job_name(job.job_name());
  config.set_job_uid(job.job_uid());
  config.set_attempt(master.attempt);
  config.set_rank(rank);
  config.set_local_rank(rank - shape.first_rank(shape.node_of(rank)));
  config.set_world_size(shape.world_size);
  config.set_master_address(master.address);
  config.set_master_port(master.port);
  config.set_master_listen_fd(-1);
  config.set_network_interface(is_loopback(settings.host) ? "lo" : settings.host);
  *config.mutable_spec() = job.spec();
  *config.mutable_plan() = job.plan();
  config.set_report_fd(-1);
  config.set_command_fd(-1);
  config.set_threads(settings.threads);
  config.set_trace_directory(settings.trace_directory);
  const std::chrono::seconds stall_timeout =
      master.stall_timeout.value_or(limits_of(job.spec()).stall_timeout);
  config.set_collective_timeout_seconds(static_cast<int>((stall_timeout + kBehindCoordinator).count()));
  return config;
}

std::vector<std::pair<std::string, std::string>> rank_environment(const v1alpha1::RankConfig& config) {
  return {{"RANK", std::to_string(config.rank())},
          {"LOCAL_RANK", std::to_string(config.local_rank())},
          {"WORLD_SIZE", std::to_string(config.world_size())},
          {"MASTER_ADDR", config.master_address()},
          {"MASTER_PORT", std::to_string(config.master_port())},
          {"OMP_NUM_THREADS", std::to_string(config.threads())}};
}

}  // namespace caravan::agent
