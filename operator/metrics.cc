#include "operator/metrics.h"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <cstdlib>
#include <mutex>

#include "operator/clock_warning.h"
#include "operator/job_series.h"
#include "serving/log.h"

namespace caravan::controller {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;
using prometheus::Labels;
using prometheus::MetricFamily;
using Buckets = Histogram::BucketBoundaries;

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

bool is_error(kube::ReconcileEnd end) {
  return end != kube::ReconcileEnd::kDone && end != kube::ReconcileEnd::kRequeued;
}

Buckets short_times() {
  return {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60};
}
// Streams of reports live as long as an attempt.
Buckets long_times() {
  return {0.01, 0.1, 1, 10, 60, 600, 3600, 21600, 86400, 604800};
}

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

void add_cache_families(const std::vector<CacheState>& caches, std::vector<MetricFamily>& families) {
  MetricFamily versions =
      gauge_family("caravan_cache_resource_version", "Changes up to this resourceVersion are seen");
  MetricFamily ages =
      gauge_family("caravan_cache_age_seconds", "Since the API server last told a cache anything");
  for (const CacheState& cache : caches) {
    add_gauge(versions, std::strtod(cache.resource_version.c_str(), nullptr), {{"resource", cache.plural}});
    add_gauge(ages, seconds(cache.age), {{"resource", cache.plural}});
  }
  families.push_back(std::move(versions));
  families.push_back(std::move(ages));
}

}  // namespace

struct Metrics::Series {
  Family<Counter>& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  Histogram& histogram(const char* name, const char* help, const Labels& labels, const Buckets& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels, buckets);
  }

  prometheus::Registry registry;
  const Labels controller{{"controller", kControllerName}};
  const Labels queue{{"name", kControllerName}};
  const Labels report_method{{"grpc_type", "bidi_stream"},
                             {"grpc_service", "caravan.v1alpha1.JobReports"},
                             {"grpc_method", "Report"}};

  Family<Counter>& reconciles = counters("controller_runtime_reconcile_total", "Reconciles by result");
  Counter& reconcile_errors =
      counters("controller_runtime_reconcile_errors_total", "Reconciles that failed").Add(controller);
  Counter& reconcile_panics =
      counters("controller_runtime_reconcile_panics_total", "Reconciles that threw").Add(controller);
  Histogram& reconcile_seconds = histogram("controller_runtime_reconcile_time_seconds", "Time of a reconcile",
                                           controller, short_times());
  Histogram& reconcile_cpu_seconds =
      histogram("caravan_reconcile_cpu_seconds",
                "Processor time of a reconcile; the rest of its time is waiting", controller, short_times());
  Counter& queue_retries = counters("workqueue_retries_total", "Jobs queued again after an error").Add(queue);
  Histogram& queue_seconds =
      histogram("workqueue_queue_duration_seconds", "How long a job was due before it was looked at", queue,
                short_times());
  Histogram& plan_seconds =
      histogram("caravan_plan_seconds", "Time of a decision that planned a job", {}, short_times());
  Counter& stale_caches =
      counters("stale_sync_skips_total", "Reconciles put off until the caches had seen our own writes")
          .Add(controller);
  Family<Counter>& requests =
      counters("rest_client_requests_total", "Calls of the API server by method and code; 0: no answer");
  Family<Counter>& retries =
      counters("rest_client_request_retries_total", "Calls of the API server that were tried again, by code");
  Family<Counter>& relists = counters("caravan_watch_relists_total", "Caches that were listed anew");
  Family<Counter>& watches = counters("caravan_watch_opened_total", "Watches that were opened");
  Family<Counter>& calls =
      counters("grpc_server_handled_total", "Calls of the report service that ended, by code");
  Histogram& call_seconds =
      histogram("grpc_server_handling_seconds", "How long calls of the report service took", report_method,
                long_times());
  Counter& refused_reports =
      counters("caravan_reports_refused_total", "Reports of coordinators that cannot be true").Add({});
  Counter& held_up_reports =
      counters("caravan_reports_held_up_total", "Reports that came faster than a coordinator is read")
          .Add({});
  prometheus::Gauge& clock_ahead =
      prometheus::BuildGauge()
          .Name("caravan_clock_difference_seconds")
          .Help(
              "By how much this machine's clock is ahead, at least, of that of the API server that answered "
              "last; negative: behind")
          .Register(registry)
          .Add({});
  ClockWarning clock_warning;
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

void Metrics::on_clocks_compared(std::chrono::seconds ahead) {
  series_->clock_ahead.Set(seconds(ahead));
  const std::string warning = series_->clock_warning.of(ahead, std::chrono::steady_clock::now());
  if (!warning.empty()) on_warning(warning);
}

void Metrics::on_retry(const kube::ApiError& error, std::chrono::milliseconds wait) {
  series_->retries.Add({{"code", std::to_string(error.code)}}).Increment();
  log_line(spdlog::level::info, fmt::format("{}; again in {} ms", error.message, wait.count()),
           {{"flowSchema", error.flow_schema}});
}

void Metrics::on_relist(std::string_view plural) {
  series_->relists.Add({{"resource", std::string(plural)}}).Increment();
}

void Metrics::on_watch_opened(std::string_view plural) {
  series_->watches.Add({{"resource", std::string(plural)}}).Increment();
}

void Metrics::on_taken(std::chrono::nanoseconds waited) {
  series_->queue_seconds.Observe(seconds(waited));
}

void Metrics::on_reconcile_failed(const kube::ObjectKey& key, const std::string& message) {
  log_job(spdlog::level::warn, key, message);
}

void Metrics::on_reconciled(kube::ReconcileEnd end, std::chrono::nanoseconds took,
                            std::chrono::nanoseconds cpu) {
  series_->reconciles.Add({{"controller", kControllerName}, {"result", name_of(end)}}).Increment();
  series_->reconcile_seconds.Observe(seconds(took));
  series_->reconcile_cpu_seconds.Observe(seconds(cpu));
  if (is_error(end)) series_->reconcile_errors.Increment();
  if (is_error(end) && end != kube::ReconcileEnd::kTerminalError) series_->queue_retries.Increment();
  if (end == kube::ReconcileEnd::kException) series_->reconcile_panics.Increment();
}

void Metrics::on_warning(const std::string& message) {
  log_line(spdlog::level::warn, message);
}

void Metrics::on_planned(std::chrono::nanoseconds took) {
  series_->plan_seconds.Observe(seconds(took));
}

void Metrics::on_stale_cache() {
  series_->stale_caches.Increment();
}

void Metrics::on_reports_handled(const std::string& code, std::chrono::nanoseconds took) {
  Labels labels = series_->report_method;
  labels["grpc_code"] = code;
  series_->calls.Add(labels).Increment();
  series_->call_seconds.Observe(seconds(took));
}

void Metrics::on_report_refused() {
  series_->refused_reports.Increment();
}

void Metrics::on_reports_held_up() {
  series_->held_up_reports.Increment();
}

std::string Metrics::text() const {
  std::vector<MetricFamily> families = series_->registry.Collect();
  const std::scoped_lock lock(series_->mutex);
  const Sources& from = series_->sources;
  const bool leads = from.is_leader && from.is_leader();  // of the others, the same series would count twice
  if (from.jobs != nullptr && leads) {
    for (MetricFamily& family : job_series(*from.jobs, from.accounts(), std::chrono::system_clock::now()))
      families.push_back(std::move(family));
  }
  if (from.nodes != nullptr && leads) families.push_back(node_series(*from.nodes));
  const auto add_value = [&](const char* name, const char* help, double value) {
    families.push_back(gauge_family(name, help));
    add_gauge(families.back(), value, {{"name", kControllerName}});
  };
  if (from.queue_depth)
    add_value("workqueue_depth", "Jobs that wait to be looked at", static_cast<double>(from.queue_depth()));
  if (from.queue_oldest_seconds)
    add_value("workqueue_longest_wait_seconds", "How long the first of them waits",
              from.queue_oldest_seconds());
  if (from.caches) add_cache_families(from.caches(), families);
  add_value("leader_election_master_status", "1: this one leads", leads ? 1 : 0);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace caravan::controller
