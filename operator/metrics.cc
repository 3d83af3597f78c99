#include "operator/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>

#include <map>
#include <mutex>

#include "kube/api/object.h"

namespace caravan::controller {
namespace {

using prometheus::ClientMetric;
using prometheus::Counter;
using prometheus::Family;
using prometheus::MetricFamily;
using prometheus::MetricType;

const std::string kControllerName = "llamatrainingjob";

const char* name_of(kube::ReconcileEnd end) {
  switch (end) {
    case kube::ReconcileEnd::kDone:
      return "success";
    case kube::ReconcileEnd::kRequeued:
      return "requeue_after";
    case kube::ReconcileEnd::kTerminalError:
      return "terminal_error";
    case kube::ReconcileEnd::kError:
    case kube::ReconcileEnd::kException:
      break;
  }
  return "error";
}

const prometheus::Histogram::BucketBoundaries& reconcile_buckets() {
  static const prometheus::Histogram::BucketBoundaries kBuckets = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03,
                                                                   0.1,    0.3,    1,     3,     10,   30};
  return kBuckets;
}

MetricFamily gauge(const std::string& name, const std::string& help) {
  return {.name = name, .help = help, .type = MetricType::Gauge, .metric = {}};
}

void add(MetricFamily& family, double value, const std::vector<ClientMetric::Label>& labels = {}) {
  ClientMetric metric;
  metric.label = labels;
  metric.gauge.value = value;
  family.metric.push_back(std::move(metric));
}

std::vector<ClientMetric::Label> labels_of(const kube::Json& job) {
  const kube::ObjectKey key = kube::key_of(job);
  return {{"namespace", key.name_space}, {"job", key.name}};
}

// Those of the jobs, from the cache.
std::vector<MetricFamily> job_series(const kube::Store& jobs) {
  MetricFamily states = gauge("caravan_jobs", "Jobs by state");
  MetricFamily info = gauge("caravan_job_info", "Always 1; what a job is");
  MetricFamily restarts = gauge("caravan_job_restarts", "Restarts of a job so far");
  MetricFamily progress = gauge("caravan_job_progress_ratio", "Steps done of all steps");
  std::map<std::string, int> by_state;
  for (const kube::ObjectPtr& job : jobs.all()) {
    const std::string state = kube::text_at(*job, {"status", "state"});
    ++by_state[state.empty() ? "Pending" : state];
    auto labels = labels_of(*job);
    add(restarts, static_cast<double>(kube::integer_at(*job, {"status", "restarts"}).value_or(0)), labels);
    const auto step = kube::integer_at(*job, {"status", "progress", "step"});
    const auto steps = kube::integer_at(*job, {"spec", "training", "steps"});
    if (step && steps && *steps > 0)
      add(progress, static_cast<double>(*step) / static_cast<double>(*steps), labels);
    labels.push_back({"layout", kube::text_at(*job, {"status", "layout"})});
    labels.push_back({"model", kube::text_at(*job, {"spec", "model", "preset"})});
    labels.push_back({"precision", kube::text_at(*job, {"spec", "training", "precision"})});
    labels.push_back({"queue", kube::text_at(*job, {"spec", "scheduling", "queue"})});
    add(info, 1, labels);
  }
  for (const auto& [state, count] : by_state) add(states, count, {{"state", state}});
  return {std::move(states), std::move(info), std::move(restarts), std::move(progress)};
}

}  // namespace

struct Metrics::Series {
  prometheus::Registry registry;
  Family<Counter>& reconciles = prometheus::BuildCounter()
                                    .Name("controller_runtime_reconcile_total")
                                    .Help("Reconciles by result")
                                    .Register(registry);
  prometheus::Histogram& reconcile_seconds = prometheus::BuildHistogram()
                                                 .Name("controller_runtime_reconcile_time_seconds")
                                                 .Help("Time of a reconcile")
                                                 .Register(registry)
                                                 .Add({{"controller", kControllerName}}, reconcile_buckets());
  Family<Counter>& requests = prometheus::BuildCounter()
                                  .Name("rest_client_requests_total")
                                  .Help("Calls of the API server by method and code; 0: it did not answer")
                                  .Register(registry);
  Family<Counter>& retries = prometheus::BuildCounter()
                                 .Name("rest_client_request_retries_total")
                                 .Help("Calls of the API server that were tried again, by code")
                                 .Register(registry);
  Family<Counter>& relists = prometheus::BuildCounter()
                                 .Name("caravan_watch_relists_total")
                                 .Help("Caches that were listed anew")
                                 .Register(registry);
  Family<Counter>& watches = prometheus::BuildCounter()
                                 .Name("caravan_watch_opened_total")
                                 .Help("Watches that were opened")
                                 .Register(registry);
  mutable std::mutex mutex;
  Sources sources;
};

Metrics::Metrics() : series_(std::make_unique<Series>()) {}
Metrics::~Metrics() = default;

void Metrics::set_sources(Sources sources) {
  const std::scoped_lock lock(series_->mutex);
  series_->sources = std::move(sources);
}

void Metrics::on_request(std::string_view verb, int code) {
  series_->requests.Add({{"method", std::string(verb)}, {"code", std::to_string(code)}}).Increment();
}

void Metrics::on_retry(const kube::ApiError& error, std::chrono::milliseconds wait) {
  series_->retries.Add({{"code", std::to_string(error.code)}}).Increment();
  spdlog::info("{}; again in {} ms{}{}", error.message, wait.count(),
               error.flow_schema.empty() ? "" : ", flow schema ", error.flow_schema);
}

void Metrics::on_relist(std::string_view plural) {
  series_->relists.Add({{"resource", std::string(plural)}}).Increment();
}

void Metrics::on_watch_opened(std::string_view plural) {
  series_->watches.Add({{"resource", std::string(plural)}}).Increment();
}

void Metrics::on_reconciled(kube::ReconcileEnd end, std::chrono::nanoseconds took) {
  series_->reconciles.Add({{"controller", kControllerName}, {"result", name_of(end)}}).Increment();
  series_->reconcile_seconds.Observe(std::chrono::duration<double>(took).count());
}

void Metrics::on_warning(const std::string& message) {
  spdlog::warn("{}", message);
}

std::string Metrics::text() const {
  std::vector<MetricFamily> families = series_->registry.Collect();
  const std::scoped_lock lock(series_->mutex);
  const Sources& from = series_->sources;
  if (from.jobs != nullptr) {
    for (MetricFamily& family : job_series(*from.jobs)) families.push_back(std::move(family));
  }
  const auto add_value = [&](const char* name, const char* help, double value) {
    families.push_back(gauge(name, help));
    add(families.back(), value, {{"name", kControllerName}});
  };
  if (from.queue_depth)
    add_value("workqueue_depth", "Jobs that wait to be looked at", static_cast<double>(from.queue_depth()));
  if (from.queue_oldest_seconds)
    add_value("workqueue_longest_wait_seconds", "How long the first of them waits",
              from.queue_oldest_seconds());
  if (from.is_leader)
    add_value("leader_election_master_status", "1: this one leads", from.is_leader() ? 1 : 0);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace caravan::controller
