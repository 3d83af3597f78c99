#include "common/schema/loader.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <set>

#include "caravan/v1alpha1/job.pb.h"
#include "common/json.h"
#include "common/schema/field_rules.h"

namespace caravan::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

Node scalar(std::string key, std::string text, bool quoted = false) {
  Node node;
  node.kind = NodeKind::kScalar;
  node.key = std::move(key);
  node.text = std::move(text);
  node.quoted = quoted;
  node.line = 1;
  return node;
}

Node with_children(NodeKind kind, std::string key, std::vector<Node> children) {
  Node node;
  node.kind = kind;
  node.key = std::move(key);
  node.children = std::move(children);
  node.line = 1;
  return node;
}

Node map(std::string key, std::vector<Node> entries) {
  return with_children(NodeKind::kMap, std::move(key), std::move(entries));
}
Node list(std::string key, std::vector<Node> items) {
  return with_children(NodeKind::kList, std::move(key), std::move(items));
}

TEST(Loader, ReadsEveryKindOfValue) {
  v1alpha1::Parallelism parallelism;
  const Diagnostics diagnostics = load_message(
      map("", {scalar("mode", "Auto"), scalar("tensor", "2"), scalar("sequenceParallel", "True"),
               list("layersPerStage", {scalar("", "3"), scalar("", "1")}), scalar("schedule", "1F1B")}),
      parallelism);
  EXPECT_THAT(diagnostics.errors, IsEmpty());
  EXPECT_EQ(to_json(parallelism),
            R"({"mode":"Auto","tensor":2,"layersPerStage":[3,1],"sequenceParallel":true,)"
            R"("schedule":"1F1B","zeroStage":1,"activationCheckpointing":"WhenNeeded"})");
}

TEST(Loader, ReadsMapsAndListsOfMessages) {
  v1alpha1::Worker worker;
  const Diagnostics diagnostics =
      load_message(map("", {map("nodeSelector", {scalar("b", "x"), scalar("a", "", true)}),
                            list("env", {map("", {scalar("name", "A"), scalar("value", "", true)})})}),
                   worker);
  EXPECT_THAT(diagnostics.errors, IsEmpty());
  EXPECT_EQ(to_json(worker),
            R"({"env":[{"name":"A"}],"nodeSelector":{"a":"","b":"x"},"sharedMemory":"8Gi","scratch":"2Gi"})");
}

TEST(Loader, HoldsEachValueOfAMapToTheBoundsOfTheMap) {
  v1alpha1::Worker worker;
  const Diagnostics diagnostics = load_message(
      map("", {map("nodeSelector", {scalar("a", std::string(63, 'x')), scalar("b", std::string(64, 'x'))})}),
      worker);
  ASSERT_THAT(diagnostics.errors, SizeIs(1));
  EXPECT_EQ(diagnostics.errors[0].path, "nodeSelector.b");
  EXPECT_THAT(diagnostics.errors[0].text, HasSubstr("a string of at most 63 characters, got 64 characters"));
}

TEST(Loader, AValueOfAMapIsEmptyOnlyWhereThatMeansSomething) {
  v1alpha1::Worker worker;
  const Diagnostics diagnostics = load_message(
      map("",
          {map("labels", {scalar("spot", "", true)}), map("extraResources", {scalar("rdma/hca", "", true)})}),
      worker);
  ASSERT_THAT(diagnostics.errors, SizeIs(1));
  EXPECT_EQ(diagnostics.errors[0].path, "extraResources.rdma/hca");
  EXPECT_THAT(diagnostics.errors[0].text, HasSubstr("expected a quantity"));
  EXPECT_TRUE(worker.labels().contains("spot"));
}

TEST(Loader, EntriesThatAreToldApartByTheirNamesHaveDifferentOnes) {
  const auto claim = [](const char* name) {
    return map("", {scalar("name", name), scalar("templateName", "t")});
  };
  v1alpha1::Worker worker;
  const Diagnostics diagnostics =
      load_message(map("", {list("resourceClaims", {claim("nic"), claim("gpu"), claim("nic")})}), worker);
  ASSERT_THAT(diagnostics.errors, SizeIs(1));
  EXPECT_EQ(diagnostics.errors[0].path, "resourceClaims[2]");
  EXPECT_EQ(diagnostics.errors[0].text, "an entry before has the same name, \"nic\"");
}

TEST(Loader, HoldsTheNamesOfAMapToTheirBound) {
  v1alpha1::Worker worker;
  const Diagnostics diagnostics = load_message(
      map("",
          {map("nodeSelector", {scalar(std::string(317, 'a'), "x"), scalar(std::string(318, 'a'), "x")})}),
      worker);
  ASSERT_THAT(diagnostics.errors, SizeIs(1));
  EXPECT_EQ(diagnostics.errors[0].path, "nodeSelector");
  EXPECT_EQ(diagnostics.errors[0].text, "expected names of at most 317 characters");
}

TEST(Loader, FindsAllMistakesInOneGo) {
  v1alpha1::Worker worker;
  const Diagnostics diagnostics = load_message(
      map("", {scalar("imagePullPolicy", "always"), map("nodeSelector", {scalar("a", "1"), scalar("a", "x")}),
               list("env", {map("", {scalar("value", "x")}), scalar("", "A=1")}),
               scalar("sharedMemory", "lots")}),
      worker);
  std::vector<std::string> paths;
  for (const Diagnostic& mistake : diagnostics.errors) paths.push_back(mistake.path);
  EXPECT_THAT(paths, ElementsAre("imagePullPolicy", "nodeSelector.a", "nodeSelector.a", "env[0].name",
                                 "env[1]", "sharedMemory"));
}

TEST(Loader, AListWithoutAValueIsToldToBeAList) {
  Node empty;
  empty.line = 1;
  empty.key = "layersPerStage";
  v1alpha1::Parallelism parallelism;
  const Diagnostics of_numbers = load_message(map("", {empty}), parallelism);
  ASSERT_THAT(of_numbers.errors, SizeIs(1));
  EXPECT_THAT(of_numbers.errors[0].text, StartsWith("expected a list, each entry a whole number from 1 to "));
  EXPECT_THAT(of_numbers.errors[0].text, EndsWith(", got no value"));
  empty.key = "env";
  v1alpha1::Worker worker;
  const Diagnostics of_maps = load_message(map("", {empty}), worker);
  ASSERT_THAT(of_maps.errors, SizeIs(1));
  EXPECT_THAT(of_maps.errors[0].text, StartsWith("expected a list, each entry a map of the fields "));
}

TEST(Loader, TextThatKubectlTakesForSomethingElseNeedsQuotes) {
  for (const char* text : {"y", "N", "1_000", "0b1", "0X1F", ".5", "1.", ".NAN"}) {
    v1alpha1::ObjectMeta meta;
    const Diagnostics diagnostics = load_message(
        map("", {scalar("name", "a"), map("labels", {scalar("plain", text), scalar("quoted", text, true)})}),
        meta);
    ASSERT_THAT(diagnostics.errors, SizeIs(1)) << text;
    EXPECT_EQ(diagnostics.errors[0].path, "labels.plain");
    EXPECT_THAT(diagnostics.errors[0].text, HasSubstr("put it in quotes"));
  }
}

TEST(Loader, AMisspeltRequiredFieldIsOneMistake) {
  v1alpha1::Resources resources;
  const Diagnostics diagnostics = load_message(map("", {scalar("device_s", "4")}), resources);
  ASSERT_THAT(diagnostics.errors, SizeIs(1));
  EXPECT_THAT(diagnostics.errors[0].text, HasSubstr("did you mean devices?"));
}

// What is known stands behind them. To look for it anew for each of them would take longer than a test may.
TEST(Loader, TellsOfAnyNumberOfFieldsThatNobodyKnows) {
  constexpr int kUnknown = 100'000;
  const std::string name(65, 'x');
  std::vector<Node> entries;
  for (int i = 0; i < kUnknown; ++i) entries.push_back(scalar(name + std::to_string(i), "1"));
  for (const char* known : {"model", "data", "training", "parallelism", "resources", "worker"})
    entries.push_back(map(known, {}));
  v1alpha1::JobSpec spec;
  const Diagnostics diagnostics = load_message(map("", std::move(entries)), spec);
  const auto is_unknown = [](const Diagnostic& error) { return error.text.starts_with("unknown field"); };
  EXPECT_EQ(std::ranges::count_if(diagnostics.errors, is_unknown), kUnknown);
}

TEST(Loader, ANumberWithoutQuotesForADecimalIsTakenWithANote) {
  v1alpha1::Optimizer optimizer;
  const Diagnostics diagnostics =
      load_message(map("", {scalar("learningRate", "1e-3"), scalar("beta1", "0.8", true)}), optimizer);
  EXPECT_THAT(diagnostics.errors, IsEmpty());
  EXPECT_EQ(optimizer.learning_rate(), "1e-3");
  ASSERT_THAT(diagnostics.warnings, SizeIs(1));
  EXPECT_EQ(diagnostics.warnings[0].path, "learningRate");
}

TEST(Loader, BoundsAreInclusive) {
  for (const auto& [text, accepted] : {std::pair{"0", false}, {"1", true}, {"16", true}, {"17", false}}) {
    v1alpha1::Parallelism parallelism;
    const Diagnostics diagnostics = load_message(map("", {scalar("tensor", text)}), parallelism);
    EXPECT_EQ(diagnostics.errors.empty(), accepted) << text;
  }
}

TEST(Loader, WhatTheServerWroteIsLeftOutWithANote) {
  v1alpha1::ObjectMeta meta;
  const Diagnostics diagnostics =
      load_message(map("", {scalar("name", "a"), list("managedFields", {scalar("", "x")})}), meta);
  EXPECT_THAT(diagnostics.errors, IsEmpty());
  ASSERT_THAT(diagnostics.warnings, SizeIs(1));
  EXPECT_EQ(diagnostics.warnings[0].path, "managedFields");
}

TEST(Defaults, CreateTheMessagesThatSayThemselvesSo) {
  v1alpha1::JobSpec spec;
  apply_defaults(spec);
  EXPECT_TRUE(spec.has_parallelism());
  EXPECT_TRUE(spec.has_failure_policy());
  EXPECT_EQ(spec.failure_policy().max_restarts(), 10);
  EXPECT_FALSE(spec.has_training()) << "required, so never made up";
  EXPECT_FALSE(spec.has_checkpoint());
  EXPECT_FALSE(spec.has_worker());
  EXPECT_FALSE(spec.has_scheduling());
}

TEST(Defaults, LeaveWhatIsGiven) {
  v1alpha1::Training training;
  training.set_seed(0);
  training.mutable_optimizer()->set_learning_rate("1");
  apply_defaults(training);
  EXPECT_EQ(training.seed(), 0);
  EXPECT_EQ(training.optimizer().learning_rate(), "1");
  EXPECT_EQ(training.optimizer().weight_decay(), "0.1");
  EXPECT_EQ(training.precision(), v1alpha1::Precision::BF16);
  EXPECT_EQ(training.evaluation().batches(), 8);
}

using Fields = std::set<const google::protobuf::FieldDescriptor*>;

void collect_fields(const google::protobuf::Descriptor& type, Fields& fields) {
  for (int i = 0; i < type.field_count(); ++i) {
    if (!fields.insert(type.field(i)).second || type.field(i)->message_type() == nullptr) continue;
    collect_fields(*type.field(i)->message_type(), fields);
  }
}

Fields fields_of_the_job() {
  Fields fields;
  collect_fields(*v1alpha1::LlamaTrainingJob::descriptor(), fields);
  return fields;
}

TEST(Schema, HasOnlyTypesThatTheLoaderReads) {
  using google::protobuf::FieldDescriptor;
  for (const FieldDescriptor* field : fields_of_the_job()) {
    const auto type = field->type();
    const bool is_single = type == FieldDescriptor::TYPE_INT32 || type == FieldDescriptor::TYPE_STRING ||
                           type == FieldDescriptor::TYPE_MESSAGE;
    const bool is_never_a_list = type == FieldDescriptor::TYPE_BOOL || type == FieldDescriptor::TYPE_ENUM;
    EXPECT_TRUE(is_single || (is_never_a_list && !field->is_repeated())) << field->full_name();
  }
}

TEST(Schema, EveryStringAndListOfTheSpecIsBounded) {
  for (const auto* field : fields_of_the_job()) {
    if (field->containing_type()->options().map_entry()) continue;
    const auto& rules = rules_of(*field);
    if (field->is_repeated()) {
      EXPECT_GT(rules.max_items(), 0U) << field->full_name();
    } else if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
      EXPECT_TRUE(rules.max_length() > 0 || !rules.one_of().empty()) << field->full_name();
    }
  }
}

// A default that breaks its own rules would be refused by the API server.
TEST(Schema, EveryDefaultIsAValueThatTheLoaderTakes) {
  using google::protobuf::FieldDescriptor;
  for (const FieldDescriptor* field : fields_of_the_job()) {
    const std::string& text = rules_of(*field).default_value();
    if (text.empty() || field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const bool is_string = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    const std::unique_ptr<google::protobuf::Message> message(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(field->containing_type())->New());
    const Diagnostics diagnostics =
        load_message(map("", {scalar(field->json_name(), text, is_string)}), *message);
    for (const Diagnostic& mistake : diagnostics.errors)
      EXPECT_NE(mistake.path, field->json_name()) << mistake.text;
  }
}

}  // namespace
}  // namespace caravan::schema
