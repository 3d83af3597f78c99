#include "cli/page/run_answers.h"

#include <fmt/format.h>
#include <google/protobuf/util/message_differencer.h>

#include <map>

#include "common/schema/message_text.h"
#include "service/answer/paging.h"
#include "service/answer/token.h"

namespace caravan::cli {
namespace {

using google::protobuf::Message;
using service::Answer;
using service::Code;
using service::fault;
using service::MessagePtr;
namespace faults = service::faults;

Answer<v1alpha1::Job> get_job(const RunRecord& record, const v1alpha1::GetJobRequest& request) {
  if (auto known = check_job(record, request.name()); !known) return tl::unexpected(known.error());
  return record.job();
}

Answer<v1alpha1::ListJobsResponse> list_jobs(const RunRecord& record,
                                             const v1alpha1::ListJobsRequest& request) {
  if (auto known = check_parent(record, request.parent()); !known) return tl::unexpected(known.error());
  if (auto plain = check_filter(record, request.filter()); !plain) return tl::unexpected(plain.error());
  v1alpha1::ListJobsResponse response;
  *response.add_jobs() = record.job();
  response.set_total_size(1);
  return response;
}

Answer<std::uint64_t> first_of_page(const v1alpha1::ListEventsRequest& request) {
  if (request.page_token().empty()) return 0;
  const auto place = service::place_of_page_token(request.page_token(), {request.parent()}, 1);
  if (!place) return tl::unexpected(place.error());
  if (const auto first = service::number_in<std::uint64_t>(place->front())) return *first;
  return service::bad_field("page_token", "expected that of the page before");
}

Answer<v1alpha1::ListEventsResponse> list_events(const RunRecord& record,
                                                 const v1alpha1::ListEventsRequest& request) {
  if (auto known = check_job(record, request.parent()); !known) return tl::unexpected(known.error());
  const auto size = service::page_size_of(request.page_size());
  if (!size) return tl::unexpected(size.error());
  const auto first = first_of_page(request);
  if (!first) return tl::unexpected(first.error());
  RunRecord::Events page = record.events(*first, *size);
  v1alpha1::ListEventsResponse response;
  for (auto& event : page.events) *response.add_events() = std::move(event);
  if (!page.is_all)
    response.set_next_page_token(
        service::token_of({request.parent()}, {std::to_string(page.first + page.events.size())}));
  return response;
}

Answer<v1alpha1::ListCheckpointsResponse> list_checkpoints(const RunRecord& record,
                                                           const v1alpha1::ListCheckpointsRequest& request) {
  if (auto known = check_job(record, request.parent()); !known) return tl::unexpected(known.error());
  v1alpha1::ListCheckpointsResponse response;
  *response.mutable_checkpoints() = record.job().object().status().checkpoints();
  return response;
}

// Of the job itself, which is planned: nothing is planned here, beside a training.
Answer<v1alpha1::EstimateJobResponse> estimate_job(const RunRecord& record,
                                                   const v1alpha1::EstimateJobRequest& request) {
  if (auto known = check_parent(record, request.parent()); !known) return tl::unexpected(known.error());
  const bool is_own =
      google::protobuf::util::MessageDifferencer::Equals(request.job().spec(), record.job().object().spec());
  if (!is_own || !request.devices().empty() || !request.device_hour_price().empty())
    return fault(Code::kUnimplemented, faults::kNoMethod,
                 "a run tells of its own job only; for others there is caravan plan");
  v1alpha1::EstimateJobResponse response;
  v1alpha1::Estimate& estimate = *response.add_estimates();
  estimate.set_devices(record.ranks());
  estimate.set_fits(true);
  *estimate.mutable_report() = record.plan();
  return response;
}

using Method = std::function<Answer<MessagePtr>(const RunRecord&, const Message&)>;

template <typename Request, typename Response>
Method method(Answer<Response> (*answer)(const RunRecord&, const Request&)) {
  return [answer](const RunRecord& record, const Message& request) -> Answer<MessagePtr> {
    auto given = answer(record, static_cast<const Request&>(request));
    if (!given) return tl::unexpected(std::move(given.error()));
    return std::make_unique<Response>(*std::move(given));
  };
}

const std::map<std::string, Method>& methods() {
  static const std::map<std::string, Method> all = {{"GetJob", method(get_job)},
                                                    {"ListJobs", method(list_jobs)},
                                                    {"ListEvents", method(list_events)},
                                                    {"ListCheckpoints", method(list_checkpoints)},
                                                    {"EstimateJob", method(estimate_job)}};
  return all;
}

}  // namespace

Answer<MessagePtr> answer(const RunRecord& record, const std::string& method, const Message& request) {
  const auto found = methods().find(method);
  if (found != methods().end()) return found->second(record, request);
  return fault(
      Code::kUnimplemented, faults::kNoMethod,
      fmt::format("{} is not there: a run can be looked at, and is ended where it was started", method));
}

Answer<void> check_job(const RunRecord& record, const std::string& name) {
  if (name == record.name()) return {};
  return fault(Code::kNotFound, faults::kNotFound,
               fmt::format("there is no {}; this run is {}", schema::in_quotes(name), record.name()));
}

Answer<void> check_parent(const RunRecord& record, const std::string& parent) {
  if (parent == record.parent() || parent == "namespaces/-") return {};
  return fault(
      Code::kNotFound, faults::kNotFound,
      fmt::format("there is nothing in {}; this run is {}", schema::in_quotes(parent), record.name()));
}

Answer<void> check_filter(const RunRecord& record, const std::string& filter) {
  const std::string& name = record.name();
  if (filter.empty() || filter == "name=" + name.substr(name.rfind('/') + 1)) return {};
  return service::bad_field("filter",
                            "there is one job here: expected its name, as in name=NAME, or nothing");
}

}  // namespace caravan::cli
