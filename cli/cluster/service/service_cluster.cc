#include "cli/cluster/service/service_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <tuple>
#include <utility>

#include "cli/cluster/service/channel.h"
#include "cli/cluster/service/documents.h"
#include "cli/cluster/service/errors.h"
#include "common/json.h"
#include "common/random_hex.h"
#include "kube/api/object.h"
#include "kube/api/timestamp.h"

namespace caravan::cli {

using kube::Json;
using kube::JsonArray;
using v1alpha1::Job;

namespace {

constexpr std::chrono::seconds kPatience{60};  // with a service that is busy
constexpr std::chrono::seconds kLate{30};      // a replica may hear of a new job so much later
constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr int kTriesToRemove = 20;
constexpr int kPage = 1000;

tl::unexpected<ClusterError> untold(const char* what) {
  return tl::unexpected(ClusterError{
      {fmt::format("the job service does not tell of {}; without --server and ${} the API server does", what,
                   kServerVariable)}});
}

}  // namespace

ServiceCluster::ServiceCluster(ServiceAccess access, const ClusterOptions& options)
    : Cluster(options.context),
      access_(std::move(access)),
      at_once_(options.at_once),
      channel_(open_channel(access_)),
      stub_(v1alpha1::JobService::NewStub(channel_)) {}

Server ServiceCluster::server() const {
  return {.address = access_.address,
          .is_connected = channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY};
}

ClusterError ServiceCluster::explain(const grpc::Status& status, Asked asked) const {
  asked.context = context();
  return cli::explain(status, asked, server());
}

Result<std::unique_ptr<ServiceCluster>> ServiceCluster::connect(const ClusterOptions& options) {
  auto access = find_service_access(options);
  if (!access) return tl::unexpected(std::move(access.error()));
  return std::unique_ptr<ServiceCluster>(new ServiceCluster(*std::move(access), options));
}

template <typename Request, typename Response>
ClusterResult<Response> ServiceCluster::call(Method<Request, Response> method, const Request& request,
                                             Asked asked, Clock::TimePoint until) {
  auto token = access_.token();  // a login takes nothing of the call's own time
  bool was_refused = false;
  const Clock::TimePoint end = std::min(until, clock().now() + (at_once_ ? kAtOnce : kPatience));
  for (int tries = 1;; ++tries) {
    if (!token) return tl::unexpected(token.error());
    const Clock::TimePoint deadline = std::min(until, clock().now() + (at_once_ ? kAtOnce : kCallTimeout));
    Response response;
    const grpc::Status status =
        (stub_.get()->*method)(begin_call(*token, clock(), deadline).get(), request, &response);
    if (status.ok()) return response;
    if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED && !std::exchange(was_refused, true)) {
      access_.forget_token(*token);
    } else {
      auto wait = wait_before_retry(status, tries);
      if (asked.creates_job && is_late(status, server())) {
        asked.may_be_created = true;
        wait = kBetweenLooks;  // the same request finds the job that this one may have made
      }
      if (at_once_ || !wait || clock().now() + *wait > end) return tl::unexpected(explain(status, asked));
      clock().sleep_until(clock().now() + *wait, {});
    }
    token = access_.token();
  }
}

ClusterResult<Job> ServiceCluster::find(const std::string& name, Clock::TimePoint until) {
  v1alpha1::GetJobRequest request;
  request.set_name(resource_name_of(name_space(), name));
  return call(&Stub::GetJob, request, {.verb = "get", .name_space = name_space(), .name = name}, until);
}

ClusterResult<Job> ServiceCluster::find_new(const std::string& name, Clock::TimePoint until) {
  const Clock::TimePoint end = std::min(until, clock().now() + kLate);
  while (true) {
    auto job = find(name, until);
    const bool is_late = !job && job.error().is_not_found() && name == created_ && clock().now() < end;
    if (!is_late) return job;
    clock().sleep_until(clock().now() + kBetweenLooks, {});
  }
}

ClusterResult<Json> ServiceCluster::job(const std::string& name) {
  return find(name).map([](const Job& job) { return job_document(job); });
}

ClusterResult<std::vector<Job>> ServiceCluster::list(const std::string& name_space,
                                                     const std::string& filter) {
  v1alpha1::ListJobsRequest request;
  request.set_parent(parent_of(name_space));
  request.set_page_size(kPage);
  request.set_filter(filter);
  request.set_order_by("name");
  std::vector<Job> jobs;
  do {
    auto page = call(&Stub::ListJobs, request, {.verb = "list", .name_space = name_space});
    if (!page) return tl::unexpected(std::move(page.error()));
    for (Job& job : *page->mutable_jobs()) jobs.push_back(std::move(job));
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return jobs;
}

ClusterResult<JsonArray> ServiceCluster::jobs(bool everywhere, const std::string& selector) {
  const auto filter = filter_of_labels(selector);
  if (!filter) return tl::unexpected(ClusterError{filter.error()});
  const auto listed = list(everywhere ? "" : name_space(), *filter);
  if (!listed) return tl::unexpected(listed.error());
  JsonArray jobs;
  for (const Job& job : *listed) jobs.push_back(job_document(job));
  std::ranges::stable_sort(jobs, {}, [](const Json& job) {
    const kube::ObjectKey key = kube::key_of(job);
    return std::tuple(key.name_space, key.name);
  });
  return jobs;
}

ClusterResult<std::vector<std::string>> ServiceCluster::names() {
  return list(name_space(), "").map([](const std::vector<Job>& jobs) {
    std::vector<std::string> names;
    names.reserve(jobs.size());
    for (const Job& job : jobs) names.push_back(job.name().substr(job.name().rfind('/') + 1));
    return names;
  });
}

ClusterResult<Json> ServiceCluster::create(const Json& job, bool try_out) {
  auto message = from_json<v1alpha1::LlamaTrainingJob>(boost::json::serialize(job));
  if (!message) return tl::unexpected(ClusterError{message.error()});
  const std::string stated = kube::key_of(job).name_space;
  const std::string place = stated.empty() ? name_space() : stated;
  v1alpha1::CreateJobRequest request;
  request.set_parent(parent_of(place));
  *request.mutable_job() = *std::move(message);
  request.set_validate_only(try_out);
  if (!try_out) request.set_request_id(random_hex(128));  // it may arrive twice
  const auto created =
      call(&Stub::CreateJob, request,
           {.verb = "create", .name_space = place, .name = kube::key_of(job).name, .creates_job = !try_out});
  if (!created) return tl::unexpected(created.error());
  Json document = job_document(*created);
  if (!try_out) created_ = kube::key_of(document).name;
  return document;
}

template <typename Request>
ClusterResult<Job> ServiceCluster::change(Method<Request, Job> method, const std::string& name,
                                          Request request) {
  request.set_name(resource_name_of(name_space(), name));
  return call(method, request, {.verb = "patch", .name_space = name_space(), .name = name});
}

ClusterResult<void> ServiceCluster::set_suspended(const std::string& name, bool suspended) {
  const auto ignored = [](const Job&) {};
  return suspended ? change(&Stub::SuspendJob, name).map(ignored)
                   : change(&Stub::ResumeJob, name).map(ignored);
}

ClusterResult<void> ServiceCluster::cancel(const std::string& name) {
  return change(&Stub::CancelJob, name).map([](const Job&) {});
}

// A time, as the API server is given one, in the characters that an id may have.
ClusterResult<std::string> ServiceCluster::ask_for_checkpoint(const std::string& name) {
  v1alpha1::CheckpointNowRequest request;
  std::string id = kube::to_timestamp(clock().wall_now());
  std::ranges::replace(id, ':', '-');
  request.set_request_id(id);
  return change(&Stub::CheckpointNow, name, request).map([&](const Job&) { return id; });
}

// By its version, since the service knows no other way to say which one; while that changes, by the next one.
ClusterResult<void> ServiceCluster::remove(const Json& job) {
  const std::string name = kube::key_of(job).name;
  const Asked asked{.verb = "delete", .name_space = name_space(), .name = name};
  v1alpha1::DeleteJobRequest request;
  request.set_name(resource_name_of(name_space(), name));
  request.set_etag(kube::version_of(job));
  request.set_allow_missing(true);  // a second try finds what the first one left
  for (int tries = 1;; ++tries) {
    const auto removed = call(&Stub::DeleteJob, request, asked);
    if (removed) return {};
    if (!removed.error().has_changed() || tries == kTriesToRemove) return tl::unexpected(removed.error());
    clock().sleep_until(clock().now() + kBetweenLooks, {});
    const auto now = find(name);
    if (!now && now.error().is_not_found()) return {};
    if (!now) return tl::unexpected(now.error());
    if (now->uid() != kube::uid_of(job)) return tl::unexpected(ClusterError{was_deleted(name)});
    request.set_etag(now->etag());
  }
}

ClusterResult<JsonArray> ServiceCluster::pods_of(const Json&) {
  return untold("pods");
}

ClusterResult<JsonArray> ServiceCluster::nodes() {
  return untold("nodes");
}

ClusterResult<std::vector<int>> ServiceCluster::node_numbers(const Json& job) {
  return planned_nodes(job);
}

ClusterResult<JsonArray> ServiceCluster::events_of(const Json& job) {
  const kube::ObjectKey key = kube::key_of(job);
  v1alpha1::ListEventsRequest request;
  request.set_parent(resource_name_of(key.name_space, key.name));
  request.set_page_size(kPage);
  JsonArray events;
  do {
    const auto page = call(
        &Stub::ListEvents, request,
        {.verb = "list", .resource = "events.events.k8s.io", .name_space = key.name_space, .name = key.name});
    if (!page) return tl::unexpected(page.error());
    for (const auto& event : page->events()) events.push_back(event_document(event));
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return events;
}

ClusterResult<std::optional<v1alpha1::EstimateJobResponse>> ServiceCluster::estimates(
    const v1alpha1::EstimateJobRequest& question) {
  v1alpha1::EstimateJobRequest request = question;
  const std::string& stated = question.job().metadata().namespace_();
  request.set_parent(parent_of(stated.empty() ? name_space() : stated));
  auto response = call(&Stub::EstimateJob, request, {.verb = "create", .name_space = name_space()});
  if (!response) return tl::unexpected(std::move(response.error()));
  return *std::move(response);
}

ClusterResult<JsonArray> ServiceCluster::quotas(const std::string& name_space) {
  v1alpha1::GetCapacityRequest request;
  request.set_parent(parent_of(name_space));
  const auto capacity = call(&Stub::GetCapacity, request, {.verb = "create", .name_space = name_space});
  if (!capacity) return tl::unexpected(capacity.error());
  if (!capacity->quotas_unknown().empty()) return tl::unexpected(ClusterError{{capacity->quotas_unknown()}});
  return quota_documents(*capacity);
}

}  // namespace caravan::cli
