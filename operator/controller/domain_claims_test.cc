#include "operator/controller/domain_claims.h"

#include <gmock/gmock.h>

namespace caravan::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

DomainDemands gpus_of(const std::string& domain, std::int64_t gpus) {
  DomainDemands demands;
  demands[domain]["nvidia.com/gpu"] = gpus;
  return demands;
}

TEST(DomainClaims, OthersSeeWhatAJobHasChosenUntilItsNextDecision) {
  DomainClaims claims;
  EXPECT_TRUE(claims.claim("a", gpus_of("r1", 16), claims.of_others("a").claims));
  EXPECT_TRUE(claims.claim("b", gpus_of("r1", 8), claims.of_others("b").claims));
  EXPECT_EQ(claims.of_others("c").asked, gpus_of("r1", 24));
  EXPECT_EQ(claims.of_others("a").asked, gpus_of("r1", 8)) << "its own is none of others";
  EXPECT_TRUE(claims.claim("a", gpus_of("r2", 4), claims.of_others("a").claims));
  EXPECT_THAT(claims.of_others("c").asked, ElementsAre(Pair("r1", Demand{{"nvidia.com/gpu", 8}}),
                                                       Pair("r2", Demand{{"nvidia.com/gpu", 4}})));
  EXPECT_TRUE(claims.claim("a", {}, 0)) << "its pods are seen";
  EXPECT_EQ(claims.of_others("c").asked, gpus_of("r1", 8));
  claims.forget("b");
  EXPECT_THAT(claims.of_others("c").asked, IsEmpty());
}

TEST(DomainClaims, OfJobsThatChooseAtOnceOneChoosesAgain) {
  DomainClaims claims;
  const std::uint64_t seen = claims.of_others("b").claims;
  EXPECT_TRUE(claims.claim("a", gpus_of("r1", 8), seen));
  EXPECT_TRUE(claims.claim("a", {}, seen)) << "its pods are there already";
  EXPECT_FALSE(claims.claim("b", gpus_of("r1", 8), seen)) << "which b has not seen";
  EXPECT_THAT(claims.of_others("a").asked, IsEmpty()) << "nothing was claimed";
  EXPECT_TRUE(claims.claim("b", gpus_of("r1", 8), claims.of_others("b").claims));
}

}  // namespace
}  // namespace caravan::controller
