#include "service/methods/capacity_methods.h"

#include "common/utf8.h"
#include "service/jobs/resource_name.h"

namespace caravan::service {
namespace {

using v1alpha1::Capacity;
using v1alpha1::QuotaLimit;

constexpr std::size_t kLongestResource = 253;

// What may be answered in a moment is a fault; else what is asked for stays unknown to this caller.
Answer<void> leave_unknown(const Fault& why, std::string& words) {
  const bool may_pass = why.code == Code::kUnavailable || why.code == Code::kDeadlineExceeded ||
                        why.code == Code::kCancelled || why.code == Code::kResourceExhausted;
  if (may_pass) return tl::unexpected(why);
  words = why.message;
  return {};
}

}  // namespace

std::vector<QuotaLimit> limits_of(const kube::Json& quota) {
  std::vector<QuotaLimit> limits;
  const kube::Json* hard = kube::find(quota, {"status", "hard"});
  if (hard == nullptr || !hard->is_object()) return limits;
  for (const auto& limit : hard->get_object()) {
    const std::string resource(limit.key());
    QuotaLimit& told = limits.emplace_back();
    told.set_quota(kube::text_at(quota, {"metadata", "name"}));
    told.set_resource(readable_line(resource, kLongestResource));
    told.set_hard(kube::text_at(quota, {"status", "hard", resource}));
    told.set_used(kube::text_at(quota, {"status", "used", resource}));
  }
  return limits;
}

Answer<Capacity> CapacityMethods::get_capacity(const Call& call,
                                               const v1alpha1::GetCapacityRequest& request) {
  const auto name_space = namespace_of(request.parent());
  if (!name_space) return tl::unexpected(name_space.error());
  if (auto may = rights_.check(call.context, call.caller, {"create", *name_space}); !may)
    return tl::unexpected(may.error());
  Capacity capacity;
  add_pools(capacity);
  if (auto quotas = add_quotas(call, *name_space, capacity); !quotas) return tl::unexpected(quotas.error());
  return capacity;
}

void CapacityMethods::add_pools(Capacity& into) const {
  if (link_ == nullptr) return into.set_pools_unknown("this service was started without --operator");
  auto told = link_->pools();
  if (!told) return into.set_pools_unknown(told.error().message);
  *into.mutable_pools() = std::move(*told->mutable_pools());
}

Answer<void> CapacityMethods::add_quotas(const Call& call, const std::string& name_space, Capacity& into) {
  auto client = clients_.client_of(call);
  if (!client) return leave_unknown(client.error(), *into.mutable_quotas_unknown());
  const auto page =
      (*client)->list_page(call.context, {.resource = kube::kResourceQuotas, .name_space = name_space},
                           {.longest_answer = kLongestListPage});
  if (!page) return leave_unknown(caller_fault_of(page.error()), *into.mutable_quotas_unknown());
  for (const kube::Json& quota : page->items) {
    for (QuotaLimit& limit : limits_of(quota)) *into.add_quotas() = std::move(limit);
  }
  return {};
}

}  // namespace caravan::service
