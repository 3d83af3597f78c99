#include "operator/caches.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/watch/change_filter.h"
#include "operator/api/names.h"
#include "operator/controller/pod_view.h"

namespace caravan::controller {
namespace {

// Nodes tell of themselves all the time; only what planning reads matters.
bool changes_devices(const kube::Change& change) {
  if (!change.before || !change.after) return true;
  const NodeView before = read_node(*change.before);
  const NodeView after = read_node(*change.after);
  return before.usable != after.usable || before.labels != after.labels ||
         before.allocatable != after.allocatable;
}

bool is_unplanned(const kube::Json& job) {
  const kube::Json* conditions = kube::find(job, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return true;
  const auto& all = conditions->get_array();
  return std::any_of(all.begin(), all.end(), [](const kube::Json& condition) {
    return kube::text_at(condition, {"type"}) == conditions::kPlanned &&
           kube::text_at(condition, {"status"}) == "False";
  });
}

}  // namespace

WatchedCaches::WatchedCaches(kube::Client& client, Clock& clock, kube::Observer& observer,
                             const Options& options, Enqueue enqueue, Forget forget)
    : client_(client),
      clock_(clock),
      observer_(observer),
      options_(options),
      enqueue_(std::move(enqueue)),
      forget_(std::move(forget)) {
  jobs_ = std::make_unique<kube::Informer>(
      client_, clock_, kube::system_random(), observer_,
      kube::InformerOptions{.path = {.resource = kJobs, .name_space = options_.name_space}},
      [this](const kube::Change& change) {
        if (!change.after) forget_(kube::uid_of(*change.before));
        if (is_more_than_status(change))
          enqueue_(kube::key_of(change.after ? *change.after : *change.before));
      });
  pods_ = children(kube::kPods);
  services_ = children(kServices);
  config_maps_ = children(kConfigMaps);
  accounts_ = children(kServiceAccounts);
  network_policies_ = children(kNetworkPolicies);
  all_ = {jobs_.get(),        pods_.get(),     services_.get(),
          config_maps_.get(), accounts_.get(), network_policies_.get()};
  if (!options_.read_nodes) return;
  nodes_ = std::make_unique<kube::Informer>(client_, clock_, kube::system_random(), observer_,
                                            kube::InformerOptions{.path = {.resource = kNodes}},
                                            [this](const kube::Change& change) {
                                              if (changes_devices(change)) enqueue_unplanned();
                                            });
  all_.push_back(nodes_.get());
}

std::unique_ptr<kube::Informer> WatchedCaches::children(const kube::Resource& resource) {
  kube::InformerOptions options{.path = {.resource = resource, .name_space = options_.name_space},
                                .label_selector = fmt::format("{}={}", labels::kManagedBy, kManager)};
  return std::make_unique<kube::Informer>(client_, clock_, kube::system_random(), observer_,
                                          std::move(options), [this](const kube::Change& change) {
                                            const kube::Json& child =
                                                change.after ? *change.after : *change.before;
                                            if (const auto job = kube::controller_key_of(child, kKind))
                                              enqueue_(*job);
                                          });
}

void WatchedCaches::enqueue_unplanned() const {
  for (const kube::ObjectPtr& job : jobs_->store().all()) {
    if (is_unplanned(*job)) enqueue_(kube::key_of(*job));
  }
}

void WatchedCaches::start() {
  for (kube::Informer* informer : all_) informer->start();
}

bool WatchedCaches::synced() const {
  return std::all_of(all_.begin(), all_.end(), [](const kube::Informer* i) { return i->synced(); });
}

bool WatchedCaches::wait_until_synced(const CallContext& context) {
  return std::all_of(all_.begin(), all_.end(),
                     [&](kube::Informer* i) { return i->wait_until_synced(context); });
}

std::vector<std::string> WatchedCaches::unsynced() const {
  std::vector<std::string> plurals;
  for (const kube::Informer* informer : all_) {
    if (!informer->synced()) plurals.push_back(informer->path().resource.plural);
  }
  return plurals;
}

std::vector<CacheState> WatchedCaches::states() const {
  std::vector<CacheState> states;
  for (const kube::Informer* informer : all_) {
    if (!informer->synced()) continue;
    states.push_back({.plural = informer->path().resource.plural,
                      .resource_version = informer->store().resource_version(),
                      .age = clock_.now() - informer->heard_at()});
  }
  return states;
}

Clock::Duration WatchedCaches::stuck_for() const {
  Clock::Duration longest = Clock::Duration::zero();
  for (const kube::Informer* informer : all_) longest = std::max(longest, informer->stuck_for());
  return longest;
}

std::optional<JobFacts> WatchedCaches::facts_of(const kube::ObjectKey& key, const std::string& uid) const {
  const kube::ObjectPtr job = jobs_->store().get(key);
  if (!job || kube::uid_of(*job) != uid) return std::nullopt;
  return JobFacts{
      .steps = static_cast<int>(kube::integer_at(*job, {"spec", "training", "steps"}).value_or(0)),
      .created_at = to_time(kube::text_at(*job, {"metadata", "creationTimestamp"})).value_or(TimePoint())};
}

Caches WatchedCaches::stores() const {
  return {.jobs = jobs_->store(),
          .pods = pods_->store(),
          .services = services_->store(),
          .config_maps = config_maps_->store(),
          .accounts = accounts_->store(),
          .network_policies = network_policies_->store(),
          .nodes = nodes_ ? nodes_->store() : no_nodes_};
}

std::vector<kube::ObjectKey> WatchedCaches::job_keys() const {
  std::vector<kube::ObjectKey> keys;
  for (const kube::ObjectPtr& job : jobs_->store().all()) keys.push_back(kube::key_of(*job));
  return keys;
}

}  // namespace caravan::controller
