#include "service/jobs/job_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "common/schema/message_text.h"
#include "service/answer/paging.h"
#include "service/answer/token.h"
#include "service/jobs/job_filter.h"

namespace caravan::service {
namespace {

constexpr std::size_t kMostBytes = std::size_t{3} << 20;  // as JSON; clients of gRPC take 4 MiB unless told
constexpr std::size_t kPartsOfPlace = 3;

struct Order {
  std::string field = "create_time";
  bool descending = true;
};

Answer<Order> order_of(const std::string& text) {
  if (text.empty()) return Order{};
  constexpr std::string_view kDescending = " desc";
  Order order{.field = text, .descending = text.ends_with(kDescending)};
  if (order.descending) order.field.resize(text.size() - kDescending.size());
  for (const char* known : {"name", "create_time", "state"}) {
    if (order.field == known) return order;
  }
  return bad_field("order_by", fmt::format("expected name, create_time or state, perhaps with desc, got {}",
                                           schema::in_quotes(text)));
}

// Among equals, the name decides, so that no two jobs have the same place.
using Place = std::tuple<std::string, std::string, std::string>;

Place place_of(const JobEntry& job, const Order& order) {
  std::string first;
  if (order.field == "create_time") first = job.created;
  if (order.field == "state") first = job.state;
  return {first, std::string(job.object->name()), std::string(job.object->name_space())};
}

bool is_before(const Place& left, const Place& right, const Order& order) {
  return order.descending ? right < left : left < right;
}

std::vector<std::string> shared_by_pages(const v1alpha1::ListJobsRequest& request) {
  return {request.parent(), request.filter(), request.order_by()};
}

std::string page_token_of(const v1alpha1::ListJobsRequest& request, const Place& last) {
  const auto& [first, name, name_space] = last;
  return token_of(shared_by_pages(request), {first, name, name_space});
}

Answer<Place> place_to_go_on(const v1alpha1::ListJobsRequest& request) {
  return place_of_page_token(request.page_token(), shared_by_pages(request), kPartsOfPlace)
      .map([](const std::vector<std::string>& parts) {
        return Place{parts[0], parts[1], parts[2]};
      });
}

}  // namespace

Answer<JobPage> page_of(const std::vector<EntryPtr>& jobs, const v1alpha1::ListJobsRequest& request) {
  const auto filter = JobFilter::parse(request.filter());
  if (!filter) return tl::unexpected(filter.error());
  const auto order = order_of(request.order_by());
  if (!order) return tl::unexpected(order.error());
  const auto asked = page_size_of(request.page_size());
  if (!asked) return tl::unexpected(asked.error());
  std::vector<std::pair<Place, EntryPtr>> found;
  for (const EntryPtr& job : jobs) {
    if (filter->matches(*job)) found.emplace_back(place_of(*job, *order), job);
  }
  JobPage page{.total = found.size()};
  std::ranges::sort(found, [&](const auto& a, const auto& b) { return is_before(a.first, b.first, *order); });
  if (!request.page_token().empty()) {
    const auto last = place_to_go_on(request);
    if (!last) return tl::unexpected(last.error());
    std::erase_if(found, [&](const auto& job) { return !is_before(*last, job.first, *order); });
  }
  std::size_t bytes = 0;
  for (const auto& [place, job] : found) {
    bytes += job->message.size();
    if (page.jobs.size() == *asked || (bytes > kMostBytes && !page.jobs.empty())) break;
    page.jobs.push_back(job);
  }
  const std::size_t size = page.jobs.size();
  if (size < found.size()) page.next_page_token = page_token_of(request, found[size - 1].first);
  return page;
}

}  // namespace caravan::service
