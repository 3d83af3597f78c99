#include "service/access/rights.h"

#include <fmt/format.h>

#include "operator/api/names.h"

namespace caravan::service {
namespace {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

const kube::Resource kAccessReviews{
    .group = "authorization.k8s.io", .version = "v1", .plural = "subjectaccessreviews"};

// Everything that authorization may go by; none of it holds a zero byte.
std::string identity_of(const Caller& caller) {
  std::string text = caller.user;
  const auto add = [&text](char kind, const std::string& value) {
    text += '\0';
    text += kind;
    text += value;
  };
  add('u', caller.uid);
  for (const std::string& group : caller.groups) add('g', group);
  for (const auto& [key, values] : caller.extra) {
    add('k', key);
    for (const std::string& value : values) add('v', value);
  }
  return text;
}

JsonArray json_list(const std::vector<std::string>& texts) {
  return JsonArray(texts.begin(), texts.end());
}

Json review_of(const Caller& caller, const Action& action) {
  JsonObject extra;
  for (const auto& [key, values] : caller.extra) extra[key] = json_list(values);
  return JsonObject{
      {"apiVersion", "authorization.k8s.io/v1"},
      {"kind", "SubjectAccessReview"},
      {"spec", JsonObject{{"user", caller.user},
                          {"uid", caller.uid},
                          {"groups", json_list(caller.groups)},
                          {"extra", std::move(extra)},
                          {"resourceAttributes", JsonObject{{"group", controller::kGroup},
                                                            {"version", controller::kJobs.version},
                                                            {"resource", controller::kJobs.plural},
                                                            {"verb", action.verb},
                                                            {"namespace", action.name_space},
                                                            {"name", action.name}}}}}};
}

}  // namespace

Answer<void> Rights::check(const CallContext& context, const Caller& caller, const Action& action) {
  auto allowed = may(context, caller, {.verb = action.verb, .name_space = action.name_space});
  if (allowed && !*allowed && !action.name.empty()) allowed = may(context, caller, action);
  if (!allowed) return tl::unexpected(std::move(allowed.error()));
  if (*allowed) return {};
  return fault(
      Code::kPermissionDenied, faults::kForbidden,
      fmt::format("{} may not {} {} {}", caller.user, action.verb, controller::kJobs.plural,
                  action.name_space.empty() ? "in all namespaces"
                                            : fmt::format("in the namespace {}", action.name_space)));
}

Answer<bool> Rights::may(const CallContext& context, const Caller& caller, const Action& action) {
  const Key key{digest_of(identity_of(caller)), action.verb, action.name_space, action.name};
  if (const auto known = known_.find(key)) return *known;
  auto allowed = ask(context, caller, action);
  if (allowed) known_.keep(key, *allowed);
  return allowed;
}

Answer<bool> Rights::ask(const CallContext& context, const Caller& caller, const Action& action) {
  const auto review = client_.create(context, {.resource = kAccessReviews}, review_of(caller, action));
  if (review)
    return kube::flag_at(*review, {"status", "allowed"}) && !kube::flag_at(*review, {"status", "denied"});
  Fault own = own_fault_of(review.error());
  own.message = "rights cannot be looked up: " + own.message;
  return tl::unexpected(std::move(own));
}

}  // namespace caravan::service
