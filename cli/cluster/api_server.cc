#include "cli/cluster/api_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <tuple>

#include "cli/cluster/api_errors.h"
#include "cli/cluster/documents.h"
#include "cli/cluster/log_reader.h"
#include "common/version.h"
#include "kube/api/object.h"
#include "kube/api/timestamp.h"
#include "kube/config/kubeconfig.h"
#include "operator/api/cancellation.h"
#include "operator/api/job_object.h"
#include "operator/api/names.h"
#include "operator/api/pod_names.h"
#include "operator/view/event_view.h"
#include "operator/view/pod_log.h"
#include "operator/view/pod_view.h"

namespace caravan::cli {
namespace {

using controller::kJobs;
using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

// A server that ends watches at once is not asked without pause.
constexpr std::chrono::seconds kBetweenWatches{1};

Result<kube::ClientConfig> load_config(const ClusterOptions& options) {
  const std::vector<std::string> files =
      options.kubeconfig.empty() ? kube::kubeconfig_files() : std::vector{options.kubeconfig};
  auto config = kube::load_kubeconfig(files, options.context, read_document);
  if (!config) {
    return bad_input(
        fmt::format("no cluster to talk to: {}; point $KUBECONFIG or --kubeconfig at the file "
                    "that your cluster's administrator or `kubectl` uses",
                    config.error().message));
  }
  if (!options.name_space.empty()) config->name_space = options.name_space;
  return config;
}

kube::ClientOptions client_options(const kube::ClientConfig& config, bool at_once) {
  return {.user_agent = fmt::format("caravan/{}", version()),
          .field_manager = "caravan-cli",
          .base_path = config.base_path,
          .call_timeout = at_once ? kAtOnce : kCallTimeout,
          .retry = {.tries = at_once ? 1 : kube::RetryPolicy().tries}};
}

}  // namespace

ApiServer::ApiServer(kube::ClientConfig config, const ClusterOptions& options)
    : Cluster(options.context),
      config_(std::move(config)),
      at_once_(options.at_once),
      credentials_(config_, clock()),
      transport_(kube::peer_of(config_), credentials_, clock()),
      client_(transport_, credentials_, clock(), kube::system_random(),
              client_options(config_, options.at_once), observer_) {}

Result<std::unique_ptr<ApiServer>> ApiServer::connect(const ClusterOptions& options) {
  auto config = load_config(options);
  if (!config) return tl::unexpected(std::move(config.error()));
  for (const std::string& warning : config->warnings) fmt::print(stderr, "warning: {}\n", warning);
  return std::unique_ptr<ApiServer>(new ApiServer(*std::move(config), options));
}

CallContext ApiServer::call_context() {
  return {.deadline = at_once_ ? clock().now() + kAtOnce : Clock::kNever};
}

ClusterError ApiServer::explain(const kube::ApiError& error, Asked asked) const {
  asked.context = context();
  return cli::explain(error, asked, kube::to_string(config_.server));
}

ClusterResult<Json> ApiServer::job(const std::string& name) {
  return job(name, {});
}

ClusterResult<Json> ApiServer::job(const std::string& name, const CallContext& context) {
  return client_.get(context, {.resource = kJobs, .name_space = name_space()}, name)
      .map_error([&](const kube::ApiError& error) {
        return explain(error, {.verb = "get", .name_space = name_space(), .name = name});
      });
}

ClusterResult<JsonArray> ApiServer::list(const kube::ResourcePath& path, const kube::ListOptions& options) {
  auto page = client_.list({}, path, options);
  if (page) return std::move(page->items);
  const std::string& group = path.resource.group;
  const std::string resource =
      group.empty() ? path.resource.plural : fmt::format("{}.{}", path.resource.plural, group);
  return tl::unexpected(
      explain(page.error(), {.verb = "list", .resource = resource, .name_space = path.name_space}));
}

ClusterResult<JsonArray> ApiServer::jobs(bool everywhere, const std::string& selector) {
  return list({.resource = kJobs, .name_space = everywhere ? "" : name_space()},
              {.label_selector = selector});
}

ClusterResult<std::vector<std::string>> ApiServer::names() {
  const auto page = client_.list(call_context(), {.resource = kJobs, .name_space = name_space()},
                                 {.part = kube::Part::kMetadata});
  if (!page) return tl::unexpected(explain(page.error(), {.verb = "list", .name_space = name_space()}));
  std::vector<std::string> names;
  for (const Json& job : page->items) names.push_back(kube::key_of(job).name);
  return names;
}

ClusterResult<Json> ApiServer::create(const Json& job, bool try_out) {
  const std::string stated = kube::key_of(job).name_space;
  const std::string place = stated.empty() ? name_space() : stated;
  const kube::ResourcePath path{.resource = kJobs, .name_space = place};
  return (try_out ? client_.try_create({}, path, job)
                  : client_.create({}, path, job, kube::UnknownFields::kRefused))
      .map_error([&](const kube::ApiError& error) {
        return explain(error, {.verb = "create", .name_space = place, .name = kube::key_of(job).name});
      });
}

ClusterResult<void> ApiServer::change(const std::string& name, const Json& patch) {
  const auto changed = client_.merge({}, {.resource = kJobs, .name_space = name_space()}, name, patch);
  if (changed) return {};
  return tl::unexpected(
      explain(changed.error(), {.verb = "patch", .name_space = name_space(), .name = name}));
}

ClusterResult<void> ApiServer::annotate(const std::string& name, const char* annotation,
                                        const std::string& value) {
  return change(name, JsonObject{{"metadata", JsonObject{{"annotations", JsonObject{{annotation, value}}}}}});
}

ClusterResult<void> ApiServer::set_suspended(const std::string& name, bool suspended) {
  return change(name, JsonObject{{"spec", JsonObject{{"suspend", suspended}}}});
}

ClusterResult<void> ApiServer::cancel(const std::string& name) {
  return annotate(name, controller::annotations::kCancel, controller::kCancelled);
}

ClusterResult<std::string> ApiServer::ask_for_checkpoint(const std::string& name) {
  std::string request = kube::to_timestamp(clock().wall_now());
  return annotate(name, controller::annotations::kCheckpoint, request).map([&] { return request; });
}

// It was there when it was read: where it is no more, a try whose answer was lost has removed it, or somebody
// else.
ClusterResult<void> ApiServer::remove(const Json& job) {
  const std::string name = kube::key_of(job).name;
  const kube::ResourcePath path{.resource = kJobs, .name_space = name_space()};
  const auto removed = client_.remove({}, path, name, {.uid = kube::uid_of(job)});
  if (removed || removed.error().is_not_found()) return {};
  return tl::unexpected(
      explain(removed.error(), {.verb = "delete", .name_space = name_space(), .name = name}));
}

ClusterResult<JsonArray> ApiServer::pods_of(const Json& job, std::optional<int> node) {
  auto pods = list({.resource = kube::kPods, .name_space = kube::key_of(job).name_space},
                   {.label_selector = controller::pods_selector(kube::uid_of(job), node)});
  if (!pods) return pods;
  std::ranges::stable_sort(*pods, {}, [](const Json& pod) {
    const controller::PodView view = controller::read_pod(pod);
    return std::tuple(view.node, view.attempt);
  });
  return pods;
}

ClusterResult<std::vector<int>> ApiServer::node_numbers(const Json& job) {
  return pods_of(job).map([&](const JsonArray& pods) {
    const std::vector<int> planned = planned_nodes(job);
    std::set<int> nodes(planned.begin(), planned.end());
    for (const Json& pod : pods) nodes.insert(controller::read_pod(pod).node);
    return std::vector<int>(nodes.begin(), nodes.end());
  });
}

ClusterResult<JsonArray> ApiServer::events_of(const Json& job) {
  const kube::ObjectKey key = kube::key_of(job);
  const kube::ResourcePath path{.resource = kube::kEvents, .name_space = key.name_space};
  auto events = list(path, {.field_selector = "regarding.uid=" + kube::uid_of(job)});
  if (!events) return tl::unexpected(events.error());
  auto of_pods = list(path, {.field_selector = "regarding.kind=Pod"});
  if (!of_pods) return tl::unexpected(of_pods.error());
  for (Json& event : *of_pods) {
    if (controller::is_pod_of(key.name, kube::text_at(event, {"regarding", "name"})))
      events->push_back(std::move(event));
  }
  std::ranges::stable_sort(
      *events, {}, [](const Json& event) { return controller::to_time(controller::time_of_event(event)); });
  return *std::move(events);
}

ClusterResult<JsonArray> ApiServer::nodes() {
  return list({.resource = controller::kNodes}, {});
}

ClusterResult<Json> ApiServer::config_map(const std::string& name_space, const std::string& name) {
  return client_.get(call_context(), {.resource = controller::kConfigMaps, .name_space = name_space}, name)
      .map_error([&](const kube::ApiError& error) {
        return explain(error,
                       {.verb = "get", .resource = "configmaps", .name_space = name_space, .name = name});
      });
}

ClusterResult<JsonArray> ApiServer::quotas(const std::string& name_space) {
  return list({.resource = kube::kResourceQuotas, .name_space = name_space}, {});
}

ClusterResult<std::unique_ptr<kube::HttpStream>> ApiServer::log_of(const CallContext& context,
                                                                   const std::string& pod,
                                                                   const kube::Query& query) {
  return client_.open(context, {.resource = kube::kPods, .name_space = name_space()}, pod, "log", query)
      .map_error([&](const kube::ApiError& error) {
        return explain(error,
                       {.verb = "get", .resource = "pods/log", .name_space = name_space(), .name = pod});
      });
}

ClusterResult<std::string> ApiServer::token() {
  return credentials_.token(call_context()).map_error([&](const kube::ApiError& error) {
    return explain(error, {.verb = "get", .name_space = name_space()});
  });
}

Status ApiServer::read_log(const LogQuestion& question, const TakeLine& take) {
  return cli::read_log(*this, question, take);
}

Result<Curve> ApiServer::curve_of(const std::string& name, Figure figure) {
  Curve curve{.source = fmt::format("the log of job {}", name)};
  const Status read =
      read_log({.job = name}, [&](std::string_view line) { curve.add(point_of(line, figure)); });
  if (!read) return tl::unexpected(read.error());
  curve.points = by_step(curve.points);
  return curve;
}

ClusterResult<ApiServer::Watched> ApiServer::watch(const std::string& name, const std::string& version,
                                                   Clock::TimePoint deadline, const Seen& seen) {
  const CallContext context{.deadline = deadline};
  auto stream = client_.watch(context, {.resource = kJobs, .name_space = name_space()},
                              {.field_selector = "metadata.name=" + name, .resource_version = version});
  if (!stream) {
    const kube::ApiError& error = stream.error();
    if (error.is_expired() || error.kind != kube::ErrorKind::kStatus) return Watched::kOver;
    ClusterError explained = explain(error, {.verb = "watch", .name_space = name_space(), .name = name});
    if (explained.is_outage()) return Watched::kOver;
    return tl::unexpected(std::move(explained));
  }
  while (true) {
    const auto event = stream->next(context);
    if (!event || !*event) return Watched::kOver;
    const std::string type = kube::text_at(**event, {"type"});
    if (type == "DELETED") return Watched::kDeleted;
    if (type == "ERROR") return Watched::kOver;
    const Json* object = kube::find(**event, {"object"});
    if (type != "BOOKMARK" && object != nullptr && !seen(*object)) return Watched::kEnough;
  }
}

Status ApiServer::follow(const std::string& name, Clock::TimePoint deadline, const Seen& seen) {
  std::string uid;
  OutageNote outage;
  const auto pause = [&] { clock().sleep_until(std::min(deadline, clock().now() + kBetweenWatches), {}); };
  for (; clock().now() < deadline; pause()) {
    const auto now = uid.empty() ? job(name) : job(name, {.deadline = deadline});
    if (!now) {
      if (uid.empty()) return tl::unexpected(now.error());
      if (now.error().is_not_found()) return tl::unexpected(was_deleted(name));
      if (!now.error().is_outage()) return tl::unexpected(now.error());
      if (clock().now() < deadline) outage.failed(now.error());
      continue;
    }
    outage.answered();
    if (!uid.empty() && uid != kube::uid_of(*now)) return tl::unexpected(was_deleted(name));
    uid = kube::uid_of(*now);
    if (!seen(*now)) return {};
    const auto watched = watch(name, kube::version_of(*now), deadline, seen);
    if (!watched) return tl::unexpected(watched.error());
    if (*watched == Watched::kEnough) return {};
    if (*watched == Watched::kDeleted) return tl::unexpected(was_deleted(name));
  }
  return tl::unexpected(waited_in_vain(name));
}

}  // namespace caravan::cli
