#include "cli/cluster/service/documents.h"

#include <gmock/gmock.h>

#include "cli/cluster/documents.h"
#include "operator/view/event_view.h"

namespace caravan::cli {
namespace {

using ::testing::HasSubstr;

TEST(ServiceDocuments, AJobIsAsTheApiServerShowsIt) {
  v1alpha1::Job job;
  job.set_uid("u");
  job.set_etag("7");
  job.set_create_time("2026-01-01T00:00:00Z");
  job.set_delete_time("2026-01-02T00:00:00Z");
  v1alpha1::LlamaTrainingJob& object = *job.mutable_object();
  object.set_kind("LlamaTrainingJob");
  object.set_api_version("training.caravan.dev/v1alpha1");
  object.mutable_metadata()->set_name("tiny");
  object.mutable_metadata()->set_namespace_("team");
  object.mutable_status()->set_state("Running");
  object.mutable_spec()->mutable_training()->set_steps(100);
  object.mutable_spec()->mutable_model()->set_preset("llama-tiny");
  EXPECT_EQ(yaml_text(job_document(job)), R"(apiVersion: training.caravan.dev/v1alpha1
kind: LlamaTrainingJob
metadata:
  creationTimestamp: "2026-01-01T00:00:00Z"
  deletionTimestamp: "2026-01-02T00:00:00Z"
  name: tiny
  namespace: team
  resourceVersion: "7"
  uid: u
spec:
  model:
    preset: llama-tiny
  training:
    steps: 100
status:
  state: Running
)");
}

TEST(ServiceDocuments, AnEventReadsAsItWasTold) {
  v1alpha1::JobEventRecord record;
  record.set_time("2026-01-01T00:00:00Z");
  record.set_type("Warning");
  record.set_reason("DoesNotFit");
  record.set_message("needs 4 more devices");
  record.set_about("Pod/tiny-0-a1");
  record.set_count(3);
  const controller::EventView expected{.time = "2026-01-01T00:00:00Z",
                                       .is_warning = true,
                                       .kind = "Pod",
                                       .name = "tiny-0-a1",
                                       .reason = "DoesNotFit",
                                       .message = "needs 4 more devices",
                                       .count = 3};
  EXPECT_EQ(controller::read_event(event_document(record)), expected);
}

TEST(ServiceDocuments, LinesOfAQuotaStandTogether) {
  v1alpha1::Capacity capacity;
  for (const auto& [quota, resource] :
       {std::pair("gpus", "requests.nvidia.com/gpu"), std::pair("gpus", "pods"), std::pair("more", "pods")}) {
    v1alpha1::QuotaLimit& limit = *capacity.add_quotas();
    limit.set_quota(quota);
    limit.set_resource(resource);
    limit.set_hard("8");
    limit.set_used("2");
  }
  const kube::JsonArray documents = quota_documents(capacity);
  ASSERT_EQ(documents.size(), 2U);
  EXPECT_EQ(kube::text_at(documents[0], {"status", "used", "requests.nvidia.com/gpu"}), "2");
  EXPECT_EQ(kube::text_at(documents[0], {"status", "hard", "pods"}), "8");
  EXPECT_EQ(kube::text_at(documents[1], {"metadata", "name"}), "more");
}

TEST(ServiceDocuments, LabelsAreSelectedInTheServicesWords) {
  EXPECT_EQ(filter_of_labels("").value(), "");
  EXPECT_EQ(filter_of_labels("team=nlp").value(), R"(labels.team="nlp")");
  EXPECT_EQ(filter_of_labels("a.io/team == nlp, size!=large").value(),
            R"(labels.a.io/team="nlp" AND labels.size!="large")");
  for (const char* other :
       {"team in (a,b)", "team", "!team", "team=", "=nlp", "team=a b", "team=\"a\" AND x"}) {
    const auto filter = filter_of_labels(other);
    ASSERT_FALSE(filter) << other << *filter;
    EXPECT_THAT(filter.error().message, HasSubstr("KEY=VALUE and KEY!=VALUE"));
    EXPECT_EQ(filter.error().code, ExitCode::kBadInput);
  }
}

}  // namespace
}  // namespace caravan::cli
