#include "common/schema/field_remarks.h"

#include <gmock/gmock.h>

#include "caravan/v1alpha1/job.pb.h"
#include "common/schema/values.h"

namespace caravan::schema {
namespace {

using ::testing::HasSubstr;

template <typename Message>
std::string_view remarks_of(std::string_view field) {
  return field_remarks(*find_field(*Message::descriptor(), field));
}

TEST(FieldRemarks, AreTheCommentsOfTheSchema) {
  EXPECT_EQ(remarks_of<v1alpha1::Training>("steps"), "Optimizer steps.");
  EXPECT_EQ(remarks_of<v1alpha1::Architecture>("hiddenSize"), "");
  EXPECT_THAT(remarks_of<v1alpha1::JobSpec>("suspend"), HasSubstr("Matters on a cluster only."));
}

TEST(FieldRemarks, SayWhatIsUnavailableInTheWordsOfTheError) {
  for (const auto* field : {find_field(*v1alpha1::Gang::descriptor(), "provider"),
                            find_field(*v1alpha1::Scheduling::descriptor(), "queue"),
                            find_field(*v1alpha1::Parallelism::descriptor(), "zeroStage"),
                            find_field(*v1alpha1::Optimizer::descriptor(), "stateType")}) {
    EXPECT_THAT(std::string(field_remarks(*field)), HasSubstr(unavailability(*field))) << field->full_name();
  }
}

}  // namespace
}  // namespace caravan::schema
