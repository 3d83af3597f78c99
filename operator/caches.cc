#include "operator/caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "kube/watch/change_filter.h"
#include "operator/api/job_object.h"
#include "operator/api/names.h"
#include "operator/kept_fields.h"
#include "operator/view/object_fields.h"

namespace caravan::controller {
namespace {

bool is_over(const kube::Json& job) {
  return has_condition(job, conditions::kComplete, "True") || has_condition(job, conditions::kFailed, "True");
}

bool is_unplanned(const kube::Json& job) {
  return !is_over(job) && (condition_of(job, conditions::kPlanned) == nullptr ||
                           has_condition(job, conditions::kPlanned, "False"));
}

// Of a job that machines alone would not help.
constexpr std::array<std::string_view, 4> kOtherReasons{reasons::kWaitingForQuota, reasons::kNotAllowed,
                                                        reasons::kNoDomain, reasons::kPodsGated};
// The same, in words of the scheduler and of the API server that the condition quotes, since neither says it
// in a field: a claim that is missing or has no volume (of Kubernetes 1.29 to 1.34, plugins/volumebinding),
// a quota or another rule by which pods may not be made (apimachinery's NewForbidden), a webhook that refuses
// them.
constexpr std::array<std::string_view, 5> kOtherCauses{
    "persistentvolumeclaim \"", "unbound immediate PersistentVolumeClaims", "bound to non-existent pv(s)",
    " is forbidden: ", "denied the request"};
// Said also of nodes that a StorageClass leaves out (allowedTopologies), while others are full.
constexpr std::string_view kNoVolumeThere = "find available persistent volumes to bind";
// Plugins noderesources and dynamicresources.
constexpr std::array<std::string_view, 3> kNodeIsFull{"Insufficient ", "Too many pods",
                                                      "cannot allocate all claims"};

bool lacks_something_else(const kube::Json& scheduled) {
  const std::string reason = kube::text_at(scheduled, {"reason"});
  const std::string message = kube::text_at(scheduled, {"message"});
  const auto says = [&](std::string_view words) { return message.find(words) != std::string::npos; };
  return std::ranges::find(kOtherReasons, reason) != kOtherReasons.end() ||
         std::ranges::any_of(kOtherCauses, says) ||
         (says(kNoVolumeThere) && std::ranges::none_of(kNodeIsFull, says));
}

kube::Json plan_of(const kube::Json& job) {
  const kube::Json* plan = kube::find(job, {"status", "plan"});
  return plan == nullptr ? kube::Json() : *plan;
}

std::string created_at(const kube::Json& job) {
  return kube::text_at(job, {"metadata", "creationTimestamp"});
}

JobFacts read_facts(const kube::Json& job) {
  return {.steps = static_cast<int>(kube::integer_at(job, {"spec", "training", "steps"}).value_or(0)),
          .created_at = to_time(created_at(job)).value_or(TimePoint())};
}

}  // namespace

bool waits_for_machines(const kube::Json& job) {
  const bool goes_on =
      !is_over(job) && !kube::is_being_deleted(job) && !has_condition(job, conditions::kSuspended, "True");
  const bool has_quota = kube::flag_at(job, {"status", "gang", "admitted"});
  return goes_on && !has_quota && has_condition(job, conditions::kScheduled, "False") &&
         !lacks_something_else(*condition_of(job, conditions::kScheduled));
}

bool is_status_mended(const kube::Json& before, const kube::Json& after) {
  const bool waits_for_plan = has_condition(before, conditions::kPlanned, "False") &&
                              !has_condition(after, conditions::kPlanned, "True");
  if (waits_for_plan && plan_of(before) != plan_of(after)) return true;
  return !read_job_but_spec(before).unreadable_status.empty();
}

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
      kube::InformerOptions{.path = {.resource = kJobs, .name_space = options_.name_space},
                            .keep = kept_of_job},
      [this](const kube::Change& change) { on_job(change); });
  const auto look = [this](const kube::Change& change) { on_child(change); };
  pods_ = children(kube::kPods, kept_of_pod, kube::Part::kWhole, [this](const kube::Change& change) {
    taken_.change(change);
    on_child(change);
  });
  services_ = children(kServices, kept_of_child, kube::Part::kMetadata, look);
  config_maps_ = children(kConfigMaps, kept_of_plan, kube::Part::kWhole, look);
  accounts_ = children(kServiceAccounts, kept_of_child, kube::Part::kMetadata, look);
  network_policies_ = children(kNetworkPolicies, kept_of_network_policy, kube::Part::kMetadata, look);
  all_ = {jobs_.get(),        pods_.get(),     services_.get(),
          config_maps_.get(), accounts_.get(), network_policies_.get()};
  if (!options_.read_nodes) return;
  nodes_ = std::make_unique<kube::Informer>(
      client_, clock_, kube::system_random(), observer_,
      kube::InformerOptions{.path = {.resource = kNodes}, .keep = kept_of_node},
      [this](const kube::Change& change) {
        if (!node_reader_.change(change)) return;
        for (const kube::ObjectKey& job : unplanned_job_keys()) enqueue_(job);
      });
  all_.push_back(nodes_.get());
}

std::unique_ptr<kube::Informer> WatchedCaches::children(const kube::Resource& resource, Keep keep,
                                                        kube::Part part,
                                                        std::function<void(const kube::Change&)> on_change) {
  kube::InformerOptions options{
      .path = {.resource = resource, .name_space = options_.name_space},
      .label_selector = fmt::format("{}={},{}", labels::kManagedBy, kManager, labels::kJobUid),
      .part = part,
      .keep = keep};
  return std::make_unique<kube::Informer>(client_, clock_, kube::system_random(), observer_,
                                          std::move(options), std::move(on_change));
}

void WatchedCaches::on_job(const kube::Change& change) {
  const kube::ObjectKey key = (change.after ? change.after : change.before)->key();
  const kube::Json before = change.before ? change.before->parse() : kube::Json();
  const kube::Json after = change.after ? change.after->parse() : kube::Json();
  {
    const std::scoped_lock lock(mutex_);
    if (change.after && is_unplanned(after)) {
      unplanned_.insert(key);
    } else {
      unplanned_.erase(key);
    }
    if (change.before) {
      waiting_.erase(created_at(before), key);
      facts_.erase(kube::uid_of(before));
    }
    if (change.after && waits_for_machines(after)) waiting_.insert(created_at(after), key);
    if (change.after) facts_[kube::uid_of(after)] = read_facts(after);
  }
  if (!change.after) forget_(kube::uid_of(before));
  if (is_more_than_status(change) || is_status_mended(before, after)) enqueue_(key);
}

// Also of an earlier job of the same name: the present one may wait for it to be gone.
void WatchedCaches::on_child(const kube::Change& change) {
  const kube::ObjectPtr& child = change.after ? change.after : change.before;
  const auto job = kube::controller_key_of(child->parse(), kKind);
  if (job && jobs_->store().get(*job)) enqueue_(*job);
}

void WatchedCaches::start() {
  for (kube::Informer* informer : all_) informer->start();
}

void WatchedCaches::renew() {
  for (kube::Informer* informer : all_) informer->renew();
}

bool WatchedCaches::synced() const {
  return std::all_of(all_.begin(), all_.end(), [](const kube::Informer* i) { return i->synced(); });
}

bool WatchedCaches::wait_until_synced(const CallContext& context) {
  return std::all_of(all_.begin(), all_.end(),
                     [&](kube::Informer* i) { return i->wait_until_synced(context); });
}

bool WatchedCaches::wait_while_pages_come(const std::stop_token& stop, Clock::Duration patience) {
  return std::all_of(all_.begin(), all_.end(),
                     [&](kube::Informer* i) { return i->wait_while_pages_come(stop, patience); });
}

std::vector<std::string> WatchedCaches::unsynced() const {
  std::vector<std::string> plurals;
  for (kube::Informer* informer : all_) {
    if (informer->awaits_list()) plurals.push_back(informer->path().resource.plural);
  }
  return plurals;
}

std::optional<JobFacts> WatchedCaches::facts_of(const kube::ObjectKey& key, const std::string& uid) const {
  const kube::ObjectPtr job = jobs_->store().get(key);
  if (!job || job->uid() != uid) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const auto found = facts_.find(uid);
  return found == facts_.end() ? std::nullopt : std::optional(found->second);
}

Caches WatchedCaches::stores() const {
  return {.jobs = jobs_->store(),
          .pods = pods_->store(),
          .services = services_->store(),
          .config_maps = config_maps_->store(),
          .accounts = accounts_->store(),
          .network_policies = network_policies_->store(),
          .nodes = nodes_ ? nodes_->store() : no_nodes_,
          .node_reader = node_reader_,
          .taken = taken_};
}

std::vector<kube::ObjectKey> WatchedCaches::job_keys() const {
  std::vector<kube::ObjectKey> keys;
  for (const kube::ObjectPtr& job : jobs_->store().all()) keys.push_back(job->key());
  return keys;
}

int WatchedCaches::gangs_ahead(const Job& job) const {
  const std::scoped_lock lock(mutex_);
  return waiting_.ahead_of(to_text(job.created_at), job.key);
}

std::vector<kube::ObjectKey> WatchedCaches::unplanned_job_keys() const {
  const std::scoped_lock lock(mutex_);
  return {unplanned_.begin(), unplanned_.end()};
}

}  // namespace caravan::controller
