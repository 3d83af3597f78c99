#include "operator/queue_watch.h"

#include <fmt/format.h>

#include "operator/api/names.h"
#include "operator/kept_fields.h"
#include "serving/log.h"

namespace caravan::controller {
namespace {

constexpr std::chrono::seconds kAskAgain{30};
constexpr std::chrono::seconds kFilled{60};

kube::InformerOptions workload_options(const std::string& name_space) {
  return {.path = {.resource = kWorkloads, .name_space = name_space},
          .label_selector = fmt::format("{}={},{}", labels::kManagedBy, kManager, labels::kJobUid),
          .keep = kept_of_workload};
}

}  // namespace

QueueWatch::QueueWatch(kube::Client& client, Clock& clock, kube::Observer& observer,
                       const std::string& name_space, Handlers handlers)
    : client_(client),
      clock_(clock),
      observer_(observer),
      name_space_(name_space),
      handlers_(std::move(handlers)),
      workloads_(std::make_unique<kube::Informer>(
          client_, clock_, kube::system_random(), observer_, workload_options(name_space),
          [this](const kube::Change& change) { handlers_.on_workload(change); })),
      flavors_(watch(kResourceFlavors, kept_of_flavor)),
      workload_priorities_(watch(kWorkloadPriorityClasses, kept_of_priority_class)),
      pod_priorities_(watch(kPriorityClasses, kept_of_priority_class)),
      caches_{.workloads = workloads_->store(),
              .flavors = flavors_->store(),
              .workload_priorities = workload_priorities_->store(),
              .pod_priorities = pod_priorities_->store(),
              .api = [this] { return answer().api; },
              .trouble = [this] { return answer().trouble; }} {}

std::unique_ptr<kube::Informer> QueueWatch::watch(const kube::Resource& resource, Keep keep) {
  return std::make_unique<kube::Informer>(client_, clock_, kube::system_random(), observer_,
                                          kube::InformerOptions{.path = {.resource = resource}, .keep = keep},
                                          [this](const kube::Change&) {
                                            if (answer().api == Api::kServed) handlers_.on_change();
                                          });
}

std::array<kube::Informer*, 4> QueueWatch::all() const {
  return {workloads_.get(), flavors_.get(), workload_priorities_.get(), pod_priorities_.get()};
}

void QueueWatch::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void QueueWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    Answer found = ask({.stop = stop});
    if (found.api == Api::kServed) break;
    if (!stop.stop_requested()) become(std::move(found));
    clock_.sleep_until(clock_.now() + kAskAgain, stop);
  }
  if (stop.stop_requested()) return;
  for (kube::Informer* informer : all()) informer->start();
  for (kube::Informer* informer : all()) {
    while (!informer->wait_until_synced({.stop = stop, .deadline = clock_.now() + kFilled})) {
      if (stop.stop_requested()) return;
      const std::string& plural = informer->path().resource.plural;
      log_line(spdlog::level::warn, "a cache of the queues does not fill", {{"resource", plural}});
      become({.trouble = fmt::format("its {} have not been listed within {} s; the operator's log says why",
                                     plural, kFilled.count())});
    }
  }
  become({.api = Api::kServed});
}

QueueWatch::Answer QueueWatch::ask(const CallContext& context) {
  const std::array<kube::ResourcePath, 4> needed{
      kube::ResourcePath{.resource = kWorkloads, .name_space = name_space_},
      {.resource = kResourceFlavors},
      {.resource = kWorkloadPriorityClasses},
      {.resource = kPriorityClasses}};
  for (const kube::ResourcePath& path : needed) {
    const auto page = client_.list_page(context, path, {.limit = 1, .part = kube::Part::kMetadata});
    if (page) continue;
    if (page.error().is_not_found()) return {.api = Api::kAbsent};
    if (page.error().is_forbidden()) return {.api = Api::kRefused};
    return {.trouble = page.error().message};
  }
  return {.api = Api::kServed};
}

void QueueWatch::become(Answer answer) {
  const bool is_served = answer.api == Api::kServed;
  {
    const std::scoped_lock lock(mutex_);
    if (answer_ == answer) return;
    answer_ = std::move(answer);
  }
  if (is_served) log_line(spdlog::level::info, "Kueue is there: jobs may wait in its queues", {});
  handlers_.on_change();
}

QueueWatch::Answer QueueWatch::answer() const {
  const std::scoped_lock lock(mutex_);
  return answer_;
}

}  // namespace caravan::controller
