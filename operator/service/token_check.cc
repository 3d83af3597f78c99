#include "operator/service/token_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/api/token_review.h"
#include "operator/api/names.h"

namespace caravan::controller {
namespace {

using kube::Json;
using kube::JsonArray;

std::string extra(const Json& review, std::string_view key) {
  const JsonArray& values = kube::array_at(review, {"status", "user", "extra", key});
  if (values.size() != 1 || !values.front().is_string()) return "";
  return std::string(values.front().get_string());
}

}  // namespace

Result<TokenHolder> holder_of(const Json& review) {
  const kube::TokenVerdict verdict = kube::verdict_of(review, {kReportAudience});
  if (verdict == kube::TokenVerdict::kNotValid)
    return failure("the token is not valid: " + kube::text_at(review, {"status", "error"}));
  if (verdict == kube::TokenVerdict::kOfAnotherAudience)
    return failure(fmt::format("the token is not for the audience {}", kReportAudience));
  constexpr std::string_view kAccount = "system:serviceaccount:";
  const std::string user = kube::text_at(review, {"status", "user", "username"});
  const std::string name_space = user.substr(std::min(kAccount.size(), user.size()),
                                             user.rfind(':') - std::min(kAccount.size(), user.size()));
  TokenHolder holder{.pod = {name_space, extra(review, "authentication.kubernetes.io/pod-name")},
                     .pod_uid = extra(review, "authentication.kubernetes.io/pod-uid")};
  if (user.rfind(kAccount, 0) != 0 || holder.pod.name.empty() || holder.pod_uid.empty())
    return failure(fmt::format("the token of {} was not given to a pod", user));
  return holder;
}

Result<TokenHolder> TokenCheck::review(const CallContext& context, const std::string& token) {
  const Digest digest = digest_of(token);
  if (auto known = recall(digest)) return *known;
  const auto review =
      client_.create(context, {.resource = kTokenReviews}, kube::token_review(token, {kReportAudience}));
  if (!review) return failure("the token cannot be reviewed: " + review.error().message);
  auto holder = holder_of(*review);
  if (holder) {
    holders_.keep(digest, *holder);
  } else {
    refusals_.keep(digest, holder.error());
  }
  return holder;
}

std::optional<Result<TokenHolder>> TokenCheck::recall(const Digest& digest) const {
  if (auto holder = holders_.find(digest)) return *std::move(holder);
  if (auto refusal = refusals_.find(digest)) return tl::unexpected(*std::move(refusal));
  return std::nullopt;
}

Result<Reporter> TokenCheck::check(const CallContext& context, const std::string& token) {
  const auto holder = review(context, token);
  if (!holder) return tl::unexpected(holder.error());

  const kube::ObjectPtr cached = pods_.get(holder->pod);
  if (!cached || cached->uid() != holder->pod_uid)
    return failure(fmt::format("{} is no pod of a job, or not known yet", to_string(holder->pod)));
  const Json pod = cached->parse();
  const auto job = kube::controller_key_of(pod, kKind);
  if (!job) return failure(fmt::format("pod {} belongs to no job", to_string(holder->pod)));
  if (kube::text_at(pod, {"metadata", "labels", labels::kNodeIndex}) != "0")
    return failure(fmt::format("pod {} is not the one of node 0, which reports", to_string(holder->pod)));
  return Reporter{.job = *job, .job_uid = std::string(cached->controller_uid()), .pod_uid = holder->pod_uid};
}

}  // namespace caravan::controller
