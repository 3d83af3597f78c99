#include "cli/run/prepare.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/load_devices.h"
#include "cli/run/claims.h"
#include "cli/run/device_facts.h"
#include "cli/run/preflight.h"
#include "cli/shape_of_folder.h"
#include "common/quantity.h"
#include "common/random_hex.h"
#include "common/readable_bytes.h"
#include "common/visible_gpus.h"
#include "planner/engine_profile.h"
#include "planner/plan.h"

namespace caravan::cli {
namespace {

// Of this run, also among those that other machines or containers write with into one folder.
std::string unique_name() {
  return "local-" + random_hex(64);
}

bool is_for_gpus(const v1alpha1::JobSpec& spec) {
  return spec.resources().device().kind() != v1alpha1::Device::CPU;
}

Status check_device_kind(const v1alpha1::JobSpec& spec, const Machine& machine) {
  const int wanted = spec.resources().devices();
  const std::size_t gpus = machine.gpus.size();
  if (!is_for_gpus(spec) || wanted <= static_cast<int>(gpus)) return {};
  const std::string found = fmt::format("{}{}", gpus == 0 ? "none" : std::to_string(gpus),
                                        visible_gpus() ? " that CUDA_VISIBLE_DEVICES shows" : "");
  return bad_input(
      fmt::format("spec.resources.device.kind: the job asks for {} GPUs and this machine has {}; to train on "
                  "its processor, add --set spec.resources.device.kind=CPU",
                  wanted, found));
}

// As many pods as a cluster would start, unless the user said another number.
Result<int> count_nodes(const v1alpha1::Resources& resources, std::optional<int> wanted) {
  const int devices = resources.devices();
  if (!wanted) {
    if (!resources.has_devices_per_node()) return 1;
    return (devices + resources.devices_per_node() - 1) / resources.devices_per_node();
  }
  if (devices % *wanted == 0) return *wanted;
  return bad_input(fmt::format(
      "--nodes: {} nodes cannot share the {} devices of spec.resources.devices evenly", *wanted, devices));
}

Result<std::vector<planner::DeviceProduct>> own_products(const std::string& catalogue) {
  if (catalogue.empty()) return std::vector<planner::DeviceProduct>();
  return load_devices(catalogue);
}

// The fields about devices describe the cluster; here the machine decides, and the user's own catalogue, but
// for what a GPU is, which only the job knows.
void fit_to_machine(int nodes, int64_t memory_per_rank, const std::vector<planner::DeviceProduct>& own,
                    v1alpha1::Resources& resources, std::vector<std::string>& notices) {
  const int devices_per_node = resources.devices() / nodes;
  if (resources.has_devices_per_node() && resources.devices_per_node() != devices_per_node &&
      resources.devices() > resources.devices_per_node()) {
    notices.push_back(fmt::format("ignored: spec.resources.devicesPerNode {}: --nodes {} makes it {}",
                                  resources.devices_per_node(), nodes, devices_per_node));
  }
  resources.set_devices_per_node(devices_per_node);

  v1alpha1::Device& device = *resources.mutable_device();
  if (device.kind() != v1alpha1::Device::CPU) return;
  const auto product = planner::find_among(own, device.product());
  if (!device.product().empty() && !product) {
    notices.push_back(
        fmt::format("ignored: spec.resources.device.product {}: the ranks run on this machine's processor",
                    device.product()));
    device.clear_product();
  }
  const Result<int64_t> memory =
      device.memory().empty() ? Result<int64_t>(0) : parse_quantity(device.memory());
  if (memory && *memory > memory_per_rank) {
    notices.push_back(
        fmt::format("ignored: spec.resources.device.memory {}: this machine has {} for each rank",
                    device.memory(), readable_bytes(memory_per_rank)));
    device.clear_memory();
  }
  if (product && device.memory().empty())
    device.set_memory(std::to_string(std::min(product->memory_bytes, memory_per_rank)));
}

Status resolve_and_check_data(const std::vector<std::string>& volume_arguments, v1alpha1::JobSpec& spec) {
  const Result<Volumes> volumes = parse_volumes(volume_arguments);
  if (!volumes) return tl::unexpected(volumes.error());
  if (Status resolved = resolve_claims(*volumes, spec); !resolved) return resolved;
  if (Status taken = take_shape_of_folder(spec); !taken) return taken;
  const Result<planner::ModelShape> shape = planner::resolve_model_shape(spec.model());
  if (!shape) return tl::unexpected(shape.error());
  return check_token_files(spec, shape->vocab);
}

void take(v1alpha1::PlanReport report, PreparedRun& run) {
  run.report = std::move(report);
  *run.job.mutable_plan() = run.report.plan();
  run.figures = figures_of(run.job);
}

}  // namespace

Result<PreparedRun> prepare_run(const LoadedJob& loaded, const RunOptions& options, const Machine& machine) {
  PreparedRun run{.notices = loaded.notes};
  for (const std::string& path : loaded.cluster_only) {
    run.notices.push_back(fmt::format("ignored: {}: it has a meaning on a cluster only", path));
  }
  run.job.set_job_name(loaded.job.metadata().name());
  run.job.set_job_uid(unique_name());
  v1alpha1::JobSpec& spec = *run.job.mutable_spec();
  spec = loaded.job.spec();
  if (options.log_every_seconds) spec.set_log_every_seconds(*options.log_every_seconds);

  if (Status possible = check_device_kind(spec, machine); !possible) return tl::unexpected(possible.error());
  const Result<int> nodes = count_nodes(spec.resources(), options.nodes);
  if (!nodes) return tl::unexpected(nodes.error());
  if (Status data = resolve_and_check_data(options.volumes, spec); !data) return tl::unexpected(data.error());
  if (options.metrics_port) {
    if (Status ports = check_metrics_ports(*options.metrics_port, *nodes); !ports)
      return tl::unexpected(ports.error());
  }

  auto own = own_products(options.device_catalogue);
  if (!own) return tl::unexpected(own.error());
  const int64_t memory_per_rank = machine.memory_bytes / spec.resources().devices();
  fit_to_machine(*nodes, memory_per_rank, *own, *spec.mutable_resources(), run.notices);
  run.facts = device_facts(spec.resources(), machine);
  run.facts.devices_per_node = spec.resources().devices_per_node();
  run.facts.own_products = *std::move(own);
  Result<v1alpha1::PlanReport> report = planner::plan_job(spec, run.facts, planner::default_engine_profile());
  if (!report) return tl::unexpected(report.error());
  run.job.set_nodes(*nodes);
  if (is_for_gpus(spec)) run.gpus = machine.gpus;
  take(*std::move(report), run);
  return run;
}

Result<PreparedRun> plan_again(PreparedRun run, const v1alpha1::MemoryCorrection& correction) {
  Result<v1alpha1::PlanReport> report =
      planner::plan_again({.plan = run.job.plan(), .correction = correction}, run.job.spec(), run.facts,
                          planner::default_engine_profile());
  if (!report) return tl::unexpected(report.error());
  take(*std::move(report), run);
  return run;
}

}  // namespace caravan::cli
