#include "service/methods/event_methods.h"

#include "common/utf8.h"
#include "operator/api/names.h"
#include "operator/api/pod_names.h"
#include "operator/view/event_view.h"
#include "service/answer/paging.h"
#include "service/answer/token.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using v1alpha1::JobEventRecord;

constexpr int kPage = 500;
constexpr std::size_t kLongestTime = 64;
constexpr std::size_t kPartsOfPlace = 2;

}  // namespace

std::optional<JobEventRecord> record_of(const kube::Json& event, const std::string& job) {
  const std::string kind = kube::text_at(event, {"regarding", "kind"});
  const std::string name = kube::text_at(event, {"regarding", "name"});
  const bool is_ours =
      (kind == controller::kKind && name == job) || (kind == "Pod" && controller::is_pod_of(job, name));
  if (!is_ours) return std::nullopt;
  JobEventRecord record;
  const controller::EventView view = controller::read_event(event);
  record.set_time(readable_line(view.time, kLongestTime));
  record.set_type(view.is_warning ? "Warning" : "Normal");
  record.set_reason(view.reason);
  record.set_message(view.message);
  record.set_about(kind + "/" + name);
  record.set_count(view.count);
  return record;
}

void LatestEvents::take(const kube::Json& event) {
  auto record = record_of(event, job_);
  if (!record) return;
  const std::string time = record->time();
  events_.insert_or_assign({time, kube::text_at(event, {"metadata", "name"})}, std::move(*record));
  if (events_.size() > kMost) events_.erase(events_.begin());
}

Answer<v1alpha1::ListEventsResponse> LatestEvents::page(const v1alpha1::ListEventsRequest& request) const {
  const auto size = page_size_of(request.page_size());
  if (!size) return tl::unexpected(size.error());
  auto at = events_.begin();
  if (!request.page_token().empty()) {
    const auto last = place_of_page_token(request.page_token(), {request.parent()}, kPartsOfPlace);
    if (!last) return tl::unexpected(last.error());
    at = events_.upper_bound({(*last)[0], (*last)[1]});
  }
  v1alpha1::ListEventsResponse response;
  Place last;
  for (; at != events_.end() && static_cast<std::size_t>(response.events_size()) < *size; ++at) {
    *response.add_events() = at->second;
    last = at->first;
  }
  if (at != events_.end())
    response.set_next_page_token(token_of({request.parent()}, {last.first, last.second}));
  return response;
}

Answer<v1alpha1::ListEventsResponse> EventMethods::list_events(const Call& call,
                                                               const v1alpha1::ListEventsRequest& request) {
  const auto key = job_key_of(request.parent(), "parent");
  if (!key) return tl::unexpected(key.error());
  LatestEvents latest(key->name);
  // A bad request costs the API server nothing.
  if (const auto checked = latest.page(request); !checked) return tl::unexpected(checked.error());
  auto client = clients_.client_of(call);
  if (!client) return tl::unexpected(client.error());
  kube::ListOptions at{.limit = kPage, .longest_answer = kLongestListPage};
  do {
    const auto page =
        (*client)->list_page(call.context, {.resource = kube::kEvents, .name_space = key->name_space}, at);
    if (!page) return tl::unexpected(caller_fault_of(page.error()));
    for (const kube::Json& event : page->items) latest.take(event);
    at.continue_token = page->continue_token;
  } while (!at.continue_token.empty());
  return latest.page(request);
}

}  // namespace caravan::service
