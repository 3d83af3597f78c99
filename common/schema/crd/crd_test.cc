#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>

#include <filesystem>
#include <optional>
#include <regex>
#include <utility>

#include "caravan/v1alpha1/job.pb.h"
#include "common/schema/crd/custom_resource.h"
#include "common/schema/crd/validation_rules.h"
#include "common/schema/crd/yaml_writer.h"
#include "common/schema/field_rules.h"
#include "common/testing/checkout.h"

namespace caravan::schema {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using v1alpha1::FieldRules;
using v1alpha1::Mutability;
using v1alpha1::StringFormat;

// kubectl apply keeps a copy of it in an annotation, which may have 256 KiB, beside all others.
constexpr std::uintmax_t kMaximumBytes = 96 << 10;

TEST(CustomResource, IsAtMost96KiB) {
  const auto file = std::filesystem::path(test::source_folder()) /
                    "deploy/helm/caravan/files/crds/llamatrainingjobs.training.caravan.dev.yaml";
  EXPECT_LE(std::filesystem::file_size(file), kMaximumBytes);
}

bool is_positive(const Node& schema, const std::string& bound) {
  const Node* entry = find_entry(schema, bound);
  return entry != nullptr && entry->text != "0";
}

// Paths of what has no upper bound.
void collect_unbounded(const Node& schema, const std::string& path, std::vector<std::string>& out) {
  const std::string type = find_entry(schema, "type")->text;
  if (type == "string" && find_entry(schema, "enum") == nullptr && !is_positive(schema, "maxLength")) {
    out.push_back(path);
  }
  if (type == "array" && !is_positive(schema, "maxItems")) out.push_back(path);
  if (const Node* items = find_entry(schema, "items")) collect_unbounded(*items, path + "[]", out);
  if (const Node* values = find_entry(schema, "additionalProperties")) {
    if (!is_positive(schema, "maxProperties")) out.push_back(path);
    if (find_entry(schema, "x-kubernetes-validations") == nullptr) out.push_back(path + " (keys)");
    collect_unbounded(*values, path + ".*", out);
  }
  if (const Node* properties = find_entry(schema, "properties")) {
    for (const Node& property : properties->children) {
      collect_unbounded(property, path + "." + property.key, out);
    }
  }
}

TEST(CustomResource, BoundsEveryStringListAndMap) {
  const auto schema = structural_schema(*v1alpha1::LlamaTrainingJob::descriptor());
  ASSERT_TRUE(schema) << schema.error().message;
  std::vector<std::string> unbounded;
  for (const char* part : {"spec", "status"}) {
    collect_unbounded(*find_entry(*find_entry(*schema, "properties"), part), part, unbounded);
  }
  EXPECT_THAT(unbounded, IsEmpty());
}

TEST(Patterns, HoldForWhatTheLoaderAccepts) {
  const std::vector<std::string> texts = {
      "",       "0",     "1",    "-1",   "+1",   "1.5",   "1.",   ".5",   ".",     "1e5",  "1E-05", "1e",
      "1e+9",   "1.e2",  "0x10", "inf",  ".nan", "1,5",   " 1",   "1 ",   "80Gi",  "80GB", "80gi",  "500m",
      "1.5Gi",  ".5Gi",  "-5Gi", "1Kii", "a",    "A",     "_",    "a-b",  "a-",    "-a",   "a.b",   "9a",
      "a9",     "A_9",   "9A",   "a b",  "a/b",  "../x",  "/",    "a\tb", "a\x7F", "\x01", "*.bin", "A-B",
      "3e-004", "1e009", "1E",   "1n",   "1u",   "12Ei3", "1e-9", "Gi",   "--1",   "1..5", "5Ki",   "5E",
      "5e",     "5P",    "5Pi",  "a--b", "a.-b", "a-.b",  "a..b", ".a",   "9.a",
  };
  for (const auto format : {StringFormat::Decimal, StringFormat::Quantity, StringFormat::DnsLabel,
                            StringFormat::Path, StringFormat::EnvironmentName, StringFormat::ObjectName}) {
    FieldRules rules;
    rules.set_format(format);
    const std::regex pattern{std::string(pattern_of(format))};
    for (const std::string& text : texts) {
      EXPECT_EQ(std::regex_search(text, pattern), !broken_format(rules, text))
          << StringFormat::Value_Name(format) << " \"" << text << '"';
    }
  }
}

TEST(ValueRules, QuantitiesOfNothingAreRefusedByServerAndLoaderWhereTheyMeanSomethingElse) {
  for (const auto& [type, name] : {std::pair(v1alpha1::Worker::descriptor(), "scratch"),
                                   std::pair(v1alpha1::Worker::descriptor(), "sharedMemory"),
                                   std::pair(v1alpha1::WorkerResources::descriptor(), "cpu"),
                                   std::pair(v1alpha1::WorkerResources::descriptor(), "memory"),
                                   std::pair(v1alpha1::Device::descriptor(), "memory")}) {
    const google::protobuf::FieldDescriptor& field = *find_field(*type, name);
    const auto rules = value_rules(field);
    ASSERT_EQ(rules.size(), 1U) << name;
    EXPECT_THAT(find_entry(rules.front(), "rule")->text,
                HasSubstr("quantity(self).isGreaterThan(quantity('0'))"));
    for (const char* nothing : {"0", "0Gi", "0.0", "0e9"})
      EXPECT_EQ(broken_format(rules_of(field), nothing),
                fmt::format("expected a quantity above 0, such as 80Gi or 500M, got \"{}\"", nothing))
          << name;
    for (const char* something : {"1", "500m", "1n", "8Gi"})
      EXPECT_EQ(broken_format(rules_of(field), something), std::nullopt) << name;
  }
}

// A message Outer whose field `inner` has the parts `fixed` and `free`.
class PartlyMutable {
 public:
  explicit PartlyMutable(const std::string& default_value)
      : pool_(google::protobuf::DescriptorPool::generated_pool()) {
    using google::protobuf::FieldDescriptorProto;
    google::protobuf::FileDescriptorProto file;
    file.set_name("partly_mutable.proto");
    file.set_syntax("proto3");
    auto& inner = *file.add_message_type();
    inner.set_name("Inner");
    for (const auto& [name, mutability] :
         {std::pair("fixed", Mutability::Immutable), std::pair("free", Mutability::Always)}) {
      auto& part = *inner.add_field();
      part.set_name(name);
      part.set_number(inner.field_size());
      part.set_type(FieldDescriptorProto::TYPE_STRING);
      part.mutable_options()->MutableExtension(v1alpha1::rules)->set_mutability(mutability);
    }
    auto& outer = *file.add_message_type();
    outer.set_name("Outer");
    auto& field = *outer.add_field();
    field.set_name("inner");
    field.set_number(1);
    field.set_type(FieldDescriptorProto::TYPE_MESSAGE);
    field.set_type_name("Inner");
    field.mutable_options()->MutableExtension(v1alpha1::rules)->set_default_value(default_value);
    pool_.BuildFile(file);
  }

  const google::protobuf::FieldDescriptor& inner() const {
    return *pool_.FindMessageTypeByName("Outer")->field(0);
  }

 private:
  google::protobuf::DescriptorPool pool_;
};

TEST(TransitionRules, StandAtThePartsThatMayNotChange) {
  const auto rules = transition_rules(PartlyMutable("{}").inner());
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_EQ(rules->size(), 1U);
  EXPECT_EQ(find_entry(rules->front(), "fieldPath")->text, ".fixed");
}

TEST(TransitionRules, CannotBeEvadedByLeavingTheirMessageOut) {
  const auto rules = transition_rules(PartlyMutable("").inner());
  ASSERT_FALSE(rules);
  EXPECT_THAT(rules.error().message, HasSubstr("Outer.inner: is partly mutable, so it needs a default"));
}

TEST(YamlWriter, QuotesWhatYamlWouldTakeForSomethingElse) {
  const Node tree = map(
      "", {text("plain", "two words, (x.y)"), text("word", "Yes"), text("digits", "12"),
           text("colon", "a: b"), text("quotes", "'a' \"b\" \\c"), number("number", 12), map("map", {}),
           list("list", {}), text_list("texts", {"a", "on"}),
           list("maps", {map("", {text("a", "b"), map("c", {text("d", "e")})}), map("", {text("f", "")})})});
  EXPECT_EQ(write_yaml(tree), R"(plain: two words, (x.y)
word: "Yes"
digits: "12"
colon: "a: b"
quotes: "'a' \"b\" \\c"
number: 12
map: {}
list: []
texts:
- a
- "on"
maps:
- a: b
  c:
    d: e
- f: ""
)");
}

}  // namespace
}  // namespace caravan::schema
