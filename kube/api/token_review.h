// What is asked of the API server about a token, and what its answer says of it: a TokenReview of
// authentication.k8s.io/v1. Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/api/json.h"

namespace caravan::kube {

// For any of these audiences.
Json token_review(const std::string& token, const std::vector<std::string>& audiences);

// A token may be valid and meant for somebody else, to whom it would be shown then.
enum class TokenVerdict { kGood, kNotValid, kOfAnotherAudience };
TokenVerdict verdict_of(const Json& review, const std::vector<std::string>& audiences);

}  // namespace caravan::kube
