// The document of the whole schema is docs/reference/openapi.json, which a test compares.
#include "service/json/openapi.h"

#include <gmock/gmock.h>

#include <set>

#include "caravan/v1alpha1/job_service.pb.h"
#include "kube/api/json.h"

namespace caravan::service {
namespace {

using kube::Json;
using kube::text_at;
using ::testing::HasSubstr;

Json document() {
  const std::string text =
      openapi_document(*v1alpha1::Job::descriptor()->file()->FindServiceByName("JobService"));
  return kube::parse_json(text, "the document").value();
}

void collect_references(const Json& in, std::set<std::string>& references) {
  if (in.is_array()) {
    for (const Json& item : in.get_array()) collect_references(item, references);
  }
  if (!in.is_object()) return;
  for (const auto& entry : in.get_object()) {
    if (entry.key() == "$ref")
      references.insert(std::string(entry.value().get_string()));
    else
      collect_references(entry.value(), references);
  }
}

TEST(OpenapiDocument, HasEachMethodAtItsPathWithWhatItTakes) {
  const Json api = document();
  const std::string jobs = "/v1alpha1/namespaces/{namespace}/jobs";
  EXPECT_EQ(text_at(api, {"paths", jobs, "get", "operationId"}), "ListJobs");
  EXPECT_EQ(text_at(api, {"paths", jobs + "/{job}", "delete", "operationId"}), "DeleteJob");
  EXPECT_EQ(
      text_at(api, {"paths", jobs, "post", "requestBody", "content", "application/json", "schema", "$ref"}),
      "#/components/schemas/LlamaTrainingJob");
  EXPECT_EQ(text_at(api, {"paths", jobs + ":watch", "get", "responses", "200", "content", "text/event-stream",
                          "schema", "$ref"}),
            "#/components/schemas/WatchJobsResponse");
  std::set<std::string> parameters;
  for (const Json& one : kube::find(api, {"paths", jobs, "get", "parameters"})->get_array())
    parameters.insert(text_at(one, {"in"}) + " " + text_at(one, {"name"}));
  EXPECT_EQ(parameters, (std::set<std::string>{"path namespace", "query filter", "query orderBy",
                                               "query pageSize", "query pageToken"}));
}

TEST(OpenapiDocument, SaysThatANumberIsNullWhereJsonHasNoneForIt) {
  const Json api = document();
  const auto number = [&](const char* field, const char* what) {
    return kube::find(api, {"components", "schemas", "MetricsSample", "properties", field, what});
  };
  for (const char* field : {"loss", "gradientNorm"}) {
    ASSERT_NE(number(field, "nullable"), nullptr) << field;
    EXPECT_EQ(*number(field, "nullable"), Json(true)) << field;
    EXPECT_THAT(std::string(number(field, "description")->as_string()), HasSubstr("Null: NaN or infinity."));
  }
  EXPECT_EQ(number("step", "nullable"), nullptr);
}

TEST(OpenapiDocument, HasEverySchemaThatItRefersTo) {
  const Json api = document();
  std::set<std::string> references;
  collect_references(api, references);
  EXPECT_GT(references.size(), 20u);
  const std::string prefix = "#/components/schemas/";
  for (const std::string& reference : references)
    EXPECT_NE(kube::find(api, {"components", "schemas", reference.substr(prefix.size())}), nullptr)
        << reference;
}

}  // namespace
}  // namespace caravan::service
