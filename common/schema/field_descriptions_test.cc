#include "common/schema/field_descriptions.h"

#include <gmock/gmock.h>

#include "caravan/v1alpha1/job.pb.h"
#include "common/schema/field_rules.h"

namespace caravan::schema {
namespace {

using ::testing::HasSubstr;

template <typename Message>
std::string_view description(std::string_view field) {
  return compiled_description_of(*find_field(*Message::descriptor(), field));
}

TEST(FieldDescriptions, AreTheCommentsOfTheSchema) {
  EXPECT_EQ(description<v1alpha1::Training>("steps"), "Optimizer steps.");
  EXPECT_EQ(description<v1alpha1::Architecture>("hiddenSize"), "");
  EXPECT_THAT(description<v1alpha1::JobSpec>("suspend"), HasSubstr("Matters on a cluster only."));
}

TEST(FieldDescriptions, SayWhatIsUnavailableInTheWordsOfTheError) {
  const auto* field = find_field(*v1alpha1::Parallelism::descriptor(), "zeroStage");
  EXPECT_THAT(std::string(compiled_description_of(*field)), HasSubstr(unavailability(*field)));
}

}  // namespace
}  // namespace caravan::schema
