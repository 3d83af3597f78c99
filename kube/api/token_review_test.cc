#include "kube/api/token_review.h"

#include <gtest/gtest.h>

namespace caravan::kube {
namespace {

TokenVerdict verdict(const std::string& status) {
  return verdict_of(parse_json(R"({"status": )" + status + "}", "review").value(), {"caravan", "reports"});
}

TEST(TokenReview, AsksForEachAudience) {
  const auto asked = parse_json(R"({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
                                    "spec": {"token": "secret", "audiences": ["caravan", "reports"]}})",
                                "review");
  EXPECT_EQ(token_review("secret", {"caravan", "reports"}), asked.value());
}

TEST(TokenReview, OnlyWhatIsValidAndForOneOfTheAudiencesIsGood) {
  EXPECT_EQ(verdict(R"({"authenticated": true, "audiences": ["other", "reports"]})"), TokenVerdict::kGood);
  for (const char* status :
       {"{}", R"({"audiences": ["caravan"]})", R"({"authenticated": false, "audiences": ["caravan"]})"})
    EXPECT_EQ(verdict(status), TokenVerdict::kNotValid) << status;
  // A server that knows nothing of audiences names none.
  for (const char* status :
       {R"({"authenticated": true})", R"({"authenticated": true, "audiences": ["other", 1]})"})
    EXPECT_EQ(verdict(status), TokenVerdict::kOfAnotherAudience) << status;
}

}  // namespace
}  // namespace caravan::kube
