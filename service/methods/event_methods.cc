#include "service/methods/event_methods.h"

#include <algorithm>

#include "operator/api/names.h"
#include "operator/api/pod_names.h"
#include "operator/view/event_view.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using v1alpha1::JobEventRecord;

constexpr int kPage = 500;
constexpr std::size_t kLongestPage = std::size_t{4} << 20;
constexpr std::size_t kMostEvents = 1000;  // the latest ones

}  // namespace

std::optional<JobEventRecord> record_of(const kube::Json& event, const std::string& job) {
  const std::string kind = kube::text_at(event, {"regarding", "kind"});
  const std::string name = kube::text_at(event, {"regarding", "name"});
  const bool is_ours =
      (kind == controller::kKind && name == job) || (kind == "Pod" && controller::is_pod_of(job, name));
  if (!is_ours) return std::nullopt;
  JobEventRecord record;
  const controller::EventView view = controller::read_event(event);
  record.set_time(view.time);
  record.set_type(view.is_warning ? "Warning" : "Normal");
  record.set_reason(view.reason);
  record.set_message(view.message);
  record.set_about(kind + "/" + name);
  record.set_count(view.count);
  return record;
}

Answer<v1alpha1::ListEventsResponse> EventMethods::list_events(const Call& call,
                                                               const v1alpha1::ListEventsRequest& request) {
  const auto key = job_key_of(request.parent(), "parent");
  if (!key) return tl::unexpected(key.error());
  auto client = clients_.client_of(call);
  if (!client) return tl::unexpected(client.error());
  std::vector<JobEventRecord> found;
  kube::ListOptions at{.limit = kPage, .longest_answer = kLongestPage};
  do {
    const auto page =
        (*client)->list_page(call.context, {.resource = kube::kEvents, .name_space = key->name_space}, at);
    if (!page) return tl::unexpected(caller_fault_of(page.error()));
    for (const kube::Json& event : page->items) {
      if (auto record = record_of(event, key->name)) found.push_back(std::move(*record));
    }
    at.continue_token = page->continue_token;
  } while (!at.continue_token.empty());
  std::ranges::stable_sort(found, {}, &JobEventRecord::time);
  v1alpha1::ListEventsResponse response;
  const std::size_t first = found.size() > kMostEvents ? found.size() - kMostEvents : 0;
  for (std::size_t i = first; i < found.size(); ++i) *response.add_events() = std::move(found[i]);
  return response;
}

}  // namespace caravan::service
