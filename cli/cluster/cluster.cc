#include "cli/cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <tuple>

#include "cli/cluster/documents.h"
#include "common/version.h"
#include "kube/api/object.h"
#include "kube/config/kubeconfig.h"
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

constexpr std::chrono::seconds kCallTimeout{15};
// A server that ends watches at once is not asked without pause.
constexpr std::chrono::seconds kBetweenWatches{1};
constexpr std::chrono::seconds kAtOnce{2};

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

kube::ClientOptions client_options(const kube::ClientConfig& config) {
  return {.user_agent = fmt::format("caravan/{}", version()),
          .field_manager = "caravan-cli",
          .base_path = config.base_path,
          .call_timeout = kCallTimeout};
}

}  // namespace

Error was_deleted(const std::string& name) {
  return {.message = fmt::format("job {} was deleted", name)};
}

void OutageNote::failed(const ClusterError& error) {
  if (!is_told_) fmt::print(stderr, "{}; it is asked again until it answers\n", error.message);
  is_told_ = true;
}

Cluster::Cluster(kube::ClientConfig config)
    : config_(std::move(config)),
      credentials_(config_, clock_),
      transport_(kube::peer_of(config_), credentials_, clock_),
      client_(transport_, credentials_, clock_, kube::system_random(), client_options(config_), observer_) {}

Result<std::unique_ptr<Cluster>> Cluster::connect(const ClusterOptions& options) {
  auto config = load_config(options);
  if (!config) return tl::unexpected(std::move(config.error()));
  for (const std::string& warning : config->warnings) fmt::print(stderr, "warning: {}\n", warning);
  return std::unique_ptr<Cluster>(new Cluster(*std::move(config)));
}

ClusterError Cluster::explain(const kube::ApiError& error, const Asked& asked) const {
  return cli::explain(error, asked, kube::to_string(config_.server));
}

ClusterResult<Json> Cluster::job(const std::string& name) {
  return job(name, {});
}

ClusterResult<Json> Cluster::job(const std::string& name, const CallContext& context) {
  return client_.get(context, {.resource = kJobs, .name_space = name_space()}, name)
      .map_error([&](const kube::ApiError& error) {
        return explain(error, {.verb = "get", .name_space = name_space(), .name = name});
      });
}

ClusterResult<JsonArray> Cluster::list(const kube::ResourcePath& path, const kube::ListOptions& options) {
  auto page = client_.list({}, path, options);
  if (page) return std::move(page->items);
  const std::string& group = path.resource.group;
  const std::string resource =
      group.empty() ? path.resource.plural : fmt::format("{}.{}", path.resource.plural, group);
  return tl::unexpected(
      explain(page.error(), {.verb = "list", .resource = resource, .name_space = path.name_space}));
}

ClusterResult<JsonArray> Cluster::jobs(bool everywhere, const std::string& selector) {
  return list({.resource = kJobs, .name_space = everywhere ? "" : name_space()},
              {.label_selector = selector});
}

ClusterResult<std::vector<std::string>> Cluster::names_at_once() {
  const CallContext context{.deadline = clock_.now() + kAtOnce};
  kube::ClientOptions options = client_options(config_);
  options.retry.tries = 1;
  const auto page = client_.with(options).list(context, {.resource = kJobs, .name_space = name_space()},
                                               {.part = kube::Part::kMetadata});
  if (!page) return tl::unexpected(explain(page.error(), {.verb = "list", .name_space = name_space()}));
  std::vector<std::string> names;
  for (const Json& job : page->items) names.push_back(kube::key_of(job).name);
  return names;
}

ClusterResult<Json> Cluster::create(const Json& job, bool try_out) {
  const std::string stated = kube::key_of(job).name_space;
  const std::string place = stated.empty() ? name_space() : stated;
  const kube::ResourcePath path{.resource = kJobs, .name_space = place};
  return (try_out ? client_.try_create({}, path, job) : client_.create({}, path, job))
      .map_error([&](const kube::ApiError& error) {
        return explain(error, {.verb = "create", .name_space = place, .name = kube::key_of(job).name});
      });
}

ClusterResult<Json> Cluster::change(const std::string& name, const Json& patch) {
  return client_.merge({}, {.resource = kJobs, .name_space = name_space()}, name, patch)
      .map_error([&](const kube::ApiError& error) {
        return explain(error, {.verb = "patch", .name_space = name_space(), .name = name});
      });
}

ClusterResult<void> Cluster::remove(const std::string& name, const std::string& uid) {
  return client_.remove({}, {.resource = kJobs, .name_space = name_space()}, name, {.uid = uid})
      .map_error([&](const kube::ApiError& error) {
        return explain(error, {.verb = "delete", .name_space = name_space(), .name = name});
      });
}

ClusterResult<JsonArray> Cluster::pods_of(const Json& job, std::optional<int> node) {
  auto pods = list({.resource = kube::kPods, .name_space = kube::key_of(job).name_space},
                   {.label_selector = controller::pods_selector(kube::uid_of(job), node)});
  if (!pods) return pods;
  std::ranges::stable_sort(*pods, {}, [](const Json& pod) {
    const controller::PodView view = controller::read_pod(pod);
    return std::tuple(view.node, view.attempt);
  });
  return pods;
}

ClusterResult<JsonArray> Cluster::events_of(const Json& job) {
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

ClusterResult<JsonArray> Cluster::nodes() {
  return list({.resource = controller::kNodes}, {});
}

ClusterResult<Json> Cluster::config_map(const std::string& name) {
  return client_.get({}, {.resource = controller::kConfigMaps, .name_space = name_space()}, name)
      .map_error([&](const kube::ApiError& error) {
        return explain(error,
                       {.verb = "get", .resource = "configmaps", .name_space = name_space(), .name = name});
      });
}

ClusterResult<JsonArray> Cluster::quotas(const std::string& name_space) {
  return list({.resource = kube::kResourceQuotas, .name_space = name_space}, {});
}

ClusterResult<std::unique_ptr<kube::HttpStream>> Cluster::log_of(const std::string& pod,
                                                                 const kube::Query& query) {
  return client_.open({}, {.resource = kube::kPods, .name_space = name_space()}, pod, "log", query)
      .map_error([&](const kube::ApiError& error) {
        return explain(error,
                       {.verb = "get", .resource = "pods/log", .name_space = name_space(), .name = pod});
      });
}

ClusterResult<Cluster::Watched> Cluster::watch(const std::string& name, const std::string& version,
                                               Clock::TimePoint deadline,
                                               const std::function<bool(const Json&)>& seen) {
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

Status Cluster::follow(const std::string& name, Clock::TimePoint deadline,
                       const std::function<bool(const Json&)>& seen) {
  std::string uid;
  OutageNote outage;
  const auto pause = [&] { clock_.sleep_until(std::min(deadline, clock_.now() + kBetweenWatches), {}); };
  for (; clock_.now() < deadline; pause()) {
    const auto now = uid.empty() ? job(name) : job(name, {.deadline = deadline});
    if (!now) {
      if (uid.empty()) return tl::unexpected(now.error());
      if (now.error().is_not_found()) return tl::unexpected(was_deleted(name));
      if (!now.error().is_outage()) return tl::unexpected(now.error());
      if (clock_.now() < deadline) outage.failed(now.error());
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
  return tl::unexpected(Error{.message = fmt::format("waited in vain for job {}", name), .code = kTimedOut});
}

}  // namespace caravan::cli
