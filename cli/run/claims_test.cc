#include "cli/run/claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace caravan::cli {
namespace {

using testing::HasSubstr;

v1alpha1::JobSpec spec_with(const std::string& claim, const std::string& path) {
  v1alpha1::JobSpec spec;
  spec.mutable_data()->set_claim_name(claim);
  spec.mutable_data()->set_path(path);
  return spec;
}

TEST(Claims, AFolderStandsInForAClaim) {
  v1alpha1::JobSpec spec = spec_with("corpus", "train");
  spec.mutable_data()->set_validation_path("held-out/a.bin");
  ASSERT_TRUE(resolve_claims({{"corpus", "/srv/texts"}}, spec));
  EXPECT_EQ(spec.data().claim_name(), "");
  EXPECT_EQ(spec.data().path(), "/srv/texts/train");
  EXPECT_EQ(spec.data().validation_path(), "/srv/texts/held-out/a.bin");
}

TEST(Claims, APathWithoutAClaimIsLocal) {
  v1alpha1::JobSpec spec = spec_with("", "./texts/train.bin");
  ASSERT_TRUE(resolve_claims({}, spec));
  EXPECT_EQ(spec.data().path(), (std::filesystem::current_path() / "texts/train.bin").string());
  spec = spec_with("", "/srv/train.bin");
  ASSERT_TRUE(resolve_claims({}, spec));
  EXPECT_EQ(spec.data().path(), "/srv/train.bin");
}

TEST(Claims, CheckpointsMayHaveOneOfTheirOwn) {
  v1alpha1::JobSpec spec = spec_with("corpus", "train");
  spec.mutable_checkpoint()->set_claim_name("states");
  spec.mutable_checkpoint()->set_path("tiny");
  const Status missing = resolve_claims({{"corpus", "/srv"}}, spec);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("spec.checkpoint.claimName: claim 'states'"));

  spec = spec_with("corpus", "train");
  spec.mutable_checkpoint()->set_claim_name("states");
  spec.mutable_checkpoint()->set_path("tiny");
  ASSERT_TRUE(resolve_claims({{"corpus", "/srv"}, {"states", "/mnt"}}, spec));
  EXPECT_EQ(spec.checkpoint().claim_name(), "");
  EXPECT_EQ(spec.checkpoint().path(), "/mnt/tiny");
}

TEST(Claims, WeightsToBeginWithMayHaveOneOfTheirOwn) {
  v1alpha1::JobSpec spec = spec_with("corpus", "train");
  spec.mutable_model()->mutable_init_from()->set_claim_name("weights");
  spec.mutable_model()->mutable_init_from()->set_path("llama");
  v1alpha1::JobSpec without = spec;
  const Status missing = resolve_claims({{"corpus", "/srv"}}, without);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("spec.model.initFrom.claimName: claim 'weights'"));
  ASSERT_TRUE(resolve_claims({{"corpus", "/srv"}, {"weights", "/mnt"}}, spec));
  EXPECT_EQ(spec.model().init_from().claim_name(), "");
  EXPECT_EQ(spec.model().init_from().path(), "/mnt/llama");
}

TEST(Claims, AMissingVolumeSaysWhatToAdd) {
  v1alpha1::JobSpec spec = spec_with("corpus", "train");
  const Status resolved = resolve_claims({}, spec);
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().code, ExitCode::kBadInput);
  EXPECT_THAT(resolved.error().message, HasSubstr("spec.data.claimName"));
  EXPECT_THAT(resolved.error().message, HasSubstr("--volume corpus=DIR"));
}

TEST(Claims, AVolumeThatTheJobDoesNotUseIsAnError) {
  v1alpha1::JobSpec spec = spec_with("corpus", "train");
  const Status resolved = resolve_claims({{"corpus", "/a"}, {"corpse", "/b"}}, spec);
  ASSERT_FALSE(resolved);
  EXPECT_THAT(resolved.error().message,
              HasSubstr("--volume corpse=/b: the job has no claim 'corpse'; its claims: 'corpus'"));
}

TEST(Claims, VolumesAreClaimEqualsFolder) {
  const Result<Volumes> volumes = parse_volumes({"corpus=/tmp", "other=/"});
  ASSERT_TRUE(volumes) << volumes.error().message;
  EXPECT_EQ(*volumes, (Volumes{{"corpus", "/tmp"}, {"other", "/"}}));
  for (const char* wrong : {"corpus", "=/tmp", "corpus=", "corpus=/does/not/exist", "corpus=/etc/passwd"}) {
    const Result<Volumes> refused = parse_volumes({wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, ExitCode::kBadInput);
    EXPECT_THAT(refused.error().message, HasSubstr(wrong));
  }
  EXPECT_FALSE(parse_volumes({"corpus=/tmp", "corpus=/"}));
}

}  // namespace
}  // namespace caravan::cli
