#include "kube/api/token_review.h"

#include <algorithm>

namespace caravan::kube {

Json token_review(const std::string& token, const std::vector<std::string>& audiences) {
  return JsonObject{
      {"apiVersion", "authentication.k8s.io/v1"},
      {"kind", "TokenReview"},
      {"spec", JsonObject{{"token", token}, {"audiences", JsonArray(audiences.begin(), audiences.end())}}}};
}

TokenVerdict verdict_of(const Json& review, const std::vector<std::string>& audiences) {
  if (!flag_at(review, {"status", "authenticated"})) return TokenVerdict::kNotValid;
  const auto is_ours = [&audiences](const Json& meant) {
    return meant.is_string() &&
           std::ranges::find(audiences, std::string(meant.get_string())) != audiences.end();
  };
  return std::ranges::any_of(array_at(review, {"status", "audiences"}), is_ours)
             ? TokenVerdict::kGood
             : TokenVerdict::kOfAnotherAudience;
}

}  // namespace caravan::kube
