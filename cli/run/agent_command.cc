#include "cli/run/agent_command.h"

#include <fmt/format.h>

#include <string_view>

#include "common/visible_gpus.h"

namespace caravan::cli {
namespace {

// gRPC takes an address for a URI, in which '#', '?' and '%' have meanings of their own.
std::string socket_address(const AgentSettings& settings, const char* name) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  const std::string path = settings.socket_directory / name;
  std::string address = "unix:";
  for (const char byte : path) {
    if (kPlain.find(byte) != std::string_view::npos) {
      address += byte;
    } else {
      address += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return address;
}

std::string coordinator_address(const AgentSettings& settings) {
  return socket_address(settings, "coordinator.sock");
}

}  // namespace

std::vector<std::string> share_gpus(const std::vector<std::string>& gpus, const planner::JobShape& shape) {
  if (gpus.empty() || shape.nodes == 1) return {};
  std::vector<std::string> nodes;
  for (int node = 0; node < shape.nodes; ++node) {
    const auto first = gpus.begin() + shape.first_rank(node);
    nodes.push_back(fmt::format("{}", fmt::join(first, first + shape.ranks_of(node), ",")));
  }
  return nodes;
}

std::filesystem::path plan_file(const AgentSettings& settings) {
  return settings.work_directory / "plan.json";
}

std::string reports_address(const AgentSettings& settings) {
  return socket_address(settings, "reports.sock");
}

std::filesystem::path agent_log(const AgentSettings& settings, int node) {
  return settings.work_directory / fmt::format("node-{}.log", node);
}

std::vector<std::string> agent_arguments(const AgentSettings& settings, const AgentStart& start) {
  std::vector<std::string> arguments = {
      "--plan",
      plan_file(settings).string(),
      "--node",
      fmt::format("{}", start.node),
      "--coordinator",
      coordinator_address(settings),
      "--work-directory",
      settings.work_directory.string(),
      "--threads",
      fmt::format("{}", settings.threads_per_rank),
      "--end-with-parent",
      fmt::format("{}", settings.launcher),
  };
  const auto add = [&arguments](const char* flag, std::string value) {
    arguments.emplace_back(flag);
    arguments.push_back(std::move(value));
  };
  if (settings.metrics_port)
    add("--metrics", fmt::format("127.0.0.1:{}", *settings.metrics_port + start.node));
  if (!settings.processors.empty()) {
    const std::vector<int>& own = settings.processors[static_cast<std::size_t>(start.node)];
    add("--processors", fmt::format("{}", fmt::join(own, ",")));
  }
  if (!settings.trace_directory.empty()) add("--trace-directory", settings.trace_directory.string());
  if (start.node > 0) return arguments;
  add("--listen", coordinator_address(settings));
  add("--reports", reports_address(settings));
  if (!settings.event_folder.empty()) add("--tensorboard", settings.event_folder.string());
  add("--first-attempt", fmt::format("{}", start.first_attempt));
  add("--restarts", fmt::format("{}", start.restarts));
  add("--counted-restarts", fmt::format("{}", start.counted_restarts));
  add("--restart-window-age-seconds", fmt::format("{}", start.window_age_seconds));
  add("--short-attempts", fmt::format("{}", start.short_attempts));
  add("--elapsed-seconds", fmt::format("{}", start.elapsed_seconds));
  return arguments;
}

// CUDA counts what is left from 0 on, as ranks do on their node.
std::vector<std::pair<std::string, std::string>> agent_environment(const AgentSettings& settings, int node) {
  if (settings.gpus.empty()) return {};
  return {{kVisibleGpus, settings.gpus[static_cast<std::size_t>(node)]}};
}

}  // namespace caravan::cli
