#include "operator/job_series.h"

#include <algorithm>

#include "operator/api/conditions.h"
#include "operator/api/device_labels.h"
#include "operator/api/names.h"
#include "operator/view/node_view.h"
#include "operator/view/object_fields.h"

namespace caravan::controller {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using SeriesLabels = std::vector<ClientMetric::Label>;

constexpr std::chrono::minutes kShownAfterTheEnd{15};

MetricFamily counter_family(const std::string& name, const std::string& help) {
  return {.name = name, .help = help, .type = MetricType::Counter, .metric = {}};
}

void add_counter(MetricFamily& family, double value, SeriesLabels labels) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  family.metric.push_back(std::move(metric));
}

bool ended_long_ago(const kube::Json& job, TimePoint now) {
  const auto end = to_time(kube::text_at(job, {"status", "completionTime"}));
  return end && now - *end > kShownAfterTheEnd;
}

SeriesLabels with(SeriesLabels labels, const std::string& name, const std::string& value) {
  labels.push_back({name, value});
  return labels;
}

// As people wrote it: in the spec, or as Kueue's label.
std::string named_queue(const kube::Json& job) {
  std::string named = kube::text_at(job, {"spec", "scheduling", "queue"});
  return named.empty() ? kube::text_at(job, {"metadata", "labels", labels::kQueueName}) : named;
}

// All of its pods have machines.
bool has_a_place(const kube::Json& job) {
  const std::string state = kube::text_at(job, {"status", "state"});
  if (state == conditions::kRunning || state == kStarting) return true;
  const kube::Json* scheduled = condition_of(job, conditions::kScheduled);
  return (state == conditions::kRestarting || state == conditions::kStalled) && scheduled != nullptr &&
         kube::text_at(*scheduled, {"status"}) == "True";
}

// As people see it, but a job whose queue took its devices back waits for them again.
std::string counted_state(const kube::Json& job) {
  const std::string state = kube::text_at(job, {"status", "state"});
  if (state.empty()) return "Pending";
  const kube::Json* suspended = condition_of(job, conditions::kSuspended);
  const bool waits = state == conditions::kSuspended && suspended != nullptr &&
                     kube::text_at(*suspended, {"reason"}) == reasons::kByQueue;
  return waits ? "Queued" : state;
}

class JobSeries {
 public:
  void add(const kube::Json& job, const JobLedger::Account* account) {
    const kube::ObjectKey key = kube::key_of(job);
    const SeriesLabels labels{{"namespace", key.name_space}, {"job", key.name}};
    add_info(job, labels);
    if (const auto created = to_time(kube::text_at(job, {"metadata", "creationTimestamp"})))
      add_gauge(created_, std::chrono::duration<double>(created->time_since_epoch()).count(), labels);
    add_devices(job, labels);
    const auto step = kube::integer_at(job, {"status", "progress", "step"});
    const auto steps = kube::integer_at(job, {"spec", "training", "steps"});
    if (step && steps && *steps > 0)
      add_gauge(progress_, static_cast<double>(*step) / static_cast<double>(*steps), labels);
    add_end(job, labels);
    if (account == nullptr) return;
    for (const auto& [category, seconds] : account->seconds)
      add_counter(time_, seconds, with(labels, "category", name_of(category)));
    for (const auto& [reason, count] : account->restarts)
      add_counter(restarts_, count, with(labels, "reason", reason));
  }

  std::vector<MetricFamily> take() {
    return {std::move(info_),  std::move(created_), std::move(devices_), std::move(progress_),
            std::move(ended_), std::move(time_),    std::move(restarts_)};
  }

 private:
  void add_info(const kube::Json& job, SeriesLabels labels) {
    labels.push_back({"layout", kube::text_at(job, {"status", "layout"})});
    labels.push_back({"model", kube::text_at(job, {"spec", "model", "preset"})});
    labels.push_back({"precision", kube::text_at(job, {"spec", "training", "precision"})});
    labels.push_back({"queue", named_queue(job)});
    add_gauge(info_, 1, std::move(labels));
  }

  void add_devices(const kube::Json& job, SeriesLabels labels) {
    const auto devices = kube::integer_at(job, {"spec", "resources", "devices"});
    if (!devices) return;
    const std::string kind = kube::text_at(job, {"spec", "resources", "device", "kind"});
    labels.push_back({"kind", kind.empty() ? "GPU" : kind});
    const bool held = has_a_place(job);
    add_gauge(devices_, held ? static_cast<double>(*devices) : 0, std::move(labels));
  }

  void add_end(const kube::Json& job, const SeriesLabels& labels) {
    for (const char* result : {conditions::kComplete, conditions::kFailed}) {
      if (!has_condition(job, result, "True")) continue;
      const std::string reason = kube::text_at(*condition_of(job, result), {"reason"});
      add_gauge(ended_, 1, with(with(labels, "result", result), "reason", reason));
    }
  }

  MetricFamily info_ = gauge_family("caravan_job_info", "Always 1; what a job is");
  MetricFamily created_ =
      gauge_family("caravan_job_created_timestamp_seconds", "When a job was created, in Unix time");
  MetricFamily devices_ = gauge_family("caravan_job_devices", "Devices that a job holds");
  MetricFamily progress_ = gauge_family("caravan_job_progress_ratio", "Steps done of all steps");
  MetricFamily ended_ = gauge_family("caravan_job_ended", "Always 1; how a job that is over ended");
  MetricFamily time_ = counter_family("caravan_job_time_seconds_total",
                                      "Where a job's time went; productive time of all time is its goodput");
  MetricFamily restarts_ = counter_family("caravan_job_restarts_total", "Restarts of a job by reason");
};

}  // namespace

MetricFamily gauge_family(const std::string& name, const std::string& help) {
  return {.name = name, .help = help, .type = MetricType::Gauge, .metric = {}};
}

void add_gauge(MetricFamily& family, double value, SeriesLabels labels) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
}

std::vector<MetricFamily> job_series(const kube::Store& jobs,
                                     const std::map<std::string, JobLedger::Account>& accounts,
                                     TimePoint now) {
  MetricFamily states = gauge_family("caravan_jobs", "Jobs by state");
  std::map<std::string, int> by_state;
  JobSeries series;
  for (const kube::ObjectPtr& cached : jobs.all()) {
    const kube::Json job = cached->parse();
    ++by_state[counted_state(job)];
    if (ended_long_ago(job, now)) continue;
    const auto account = accounts.find(kube::uid_of(job));
    series.add(job, account == accounts.end() ? nullptr : &account->second);
  }
  for (const auto& [state, count] : by_state) add_gauge(states, count, {{"state", state}});
  std::vector<MetricFamily> all = series.take();
  all.insert(all.begin(), std::move(states));
  return all;
}

MetricFamily node_series(const kube::Store& nodes) {
  MetricFamily devices = gauge_family("caravan_node_devices", "GPUs of the nodes that may get pods");
  std::map<std::string, std::int64_t> by_resource{{"nvidia.com/gpu", 0}};
  for (const kube::ObjectPtr& cached : nodes.all()) {
    const NodeView node = read_node(cached->parse());
    if (!node.usable) continue;
    for (const auto& [resource, count] : node.allocatable) {
      if (is_gpu(resource)) by_resource[resource] += count;
    }
  }
  for (const auto& [resource, count] : by_resource)
    add_gauge(devices, static_cast<double>(count), {{"resource", resource}});
  return devices;
}

}  // namespace caravan::controller
