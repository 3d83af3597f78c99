#include "common/schema/cel_rules.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <regex>
#include <set>

#include "caravan/v1alpha1/job.pb.h"
#include "caravan/v1alpha1/options.pb.h"
#include "common/schema/field_rules.h"

namespace caravan::schema {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CelReferences, AreTheFieldsThatARuleReads) {
  EXPECT_THAT(references_of("self.a.b * self.c == self.a.b"), ElementsAre("a.b", "c"));
  EXPECT_THAT(references_of("!has(self.path) || !self.path.matches('^/')"), ElementsAre("path"));
  EXPECT_THAT(references_of("size(self.list) == 1"), ElementsAre("list"));
  EXPECT_THAT(references_of("true"), IsEmpty());
}

v1alpha1::JobSpec spec_with_layout(int tensor, int pipeline, int data) {
  v1alpha1::JobSpec spec;
  spec.mutable_model()->set_preset("llama-tiny");
  spec.mutable_data()->set_path("tokens.bin");
  spec.mutable_training()->set_steps(1);
  spec.mutable_training()->set_sequence_length(8);
  spec.mutable_training()->set_global_batch_sequences(4);
  spec.mutable_resources()->set_devices(4);
  spec.mutable_parallelism()->set_tensor(tensor);
  spec.mutable_parallelism()->set_pipeline(pipeline);
  spec.mutable_parallelism()->set_data(data);
  apply_defaults(spec);
  return spec;
}

TEST(CelRules, ABrokenRuleNamesItsFieldAndTheValuesItRead) {
  const auto broken = violated_cel_rules(Node{}, spec_with_layout(2, 2, 2), UnreliableFields{});
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].path, "parallelism");
  EXPECT_EQ(broken[0].text,
            "tensor x pipeline x data must equal spec.resources.devices; tensor is 2, pipeline is 2, data is "
            "2, devices is 4");
  EXPECT_THAT(violated_cel_rules(Node{}, spec_with_layout(2, 2, 1), UnreliableFields{}), IsEmpty());
}

TEST(CelRules, ARuleThatReadsADoubtfulFieldIsSilent) {
  const auto spec = spec_with_layout(2, 2, 2);
  EXPECT_THAT(violated_cel_rules(Node{}, spec, {.invalid = {"resources.devices"}, .incomplete = {}}),
              IsEmpty());
  EXPECT_THAT(violated_cel_rules(Node{}, spec, {.invalid = {"parallelism"}, .incomplete = {}}), IsEmpty());
  EXPECT_EQ(violated_cel_rules(Node{}, spec, {.invalid = {"parallelism.tensors"}, .incomplete = {}}).size(),
            1U);
  EXPECT_THAT(violated_cel_rules(Node{}, spec, {.invalid = {}, .incomplete = {"parallelism"}}), IsEmpty())
      << "the tree holds none of the fields, so each may have been misspelt";
}

// A message in which every field is set, lists with one element, so that no rule ends early for want of a
// field.
void fill(google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (field->is_map()) continue;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        field->is_repeated() ? reflection.AddInt32(&message, field, 2)
                             : reflection.SetInt32(&message, field, 2);
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection.SetBool(&message, field, true);
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection.SetEnumValue(&message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        fill(field->is_repeated() ? *reflection.AddMessage(&message, field)
                                  : *reflection.MutableMessage(&message, field));
        break;
      default:
        field->is_repeated() ? reflection.AddString(&message, field, "1")
                             : reflection.SetString(&message, field, "1");
    }
  }
}

TEST(CelRules, EveryRuleOfTheJobCanBeEvaluated) {
  v1alpha1::LlamaTrainingJob full;
  fill(full);
  v1alpha1::LlamaTrainingJob sparse;
  *sparse.mutable_spec() = spec_with_layout(1, 1, 1);
  sparse.mutable_spec()->mutable_scheduling()->mutable_topology();
  sparse.mutable_spec()->mutable_failure_policy()->add_rules_list();
  sparse.mutable_spec()->mutable_model()->mutable_architecture()->set_heads(4);
  sparse.mutable_spec()->mutable_model()->mutable_architecture()->set_layers(4);
  sparse.mutable_spec()->mutable_model()->mutable_architecture()->set_hidden_size(64);
  apply_defaults(sparse);
  for (const auto* job : {&full, &sparse}) {
    for (const Diagnostic& diagnostic : violated_cel_rules(Node{}, *job, UnreliableFields{})) {
      EXPECT_THAT(diagnostic.text, Not(HasSubstr("cannot be evaluated"))) << diagnostic.path;
    }
  }
}

std::vector<Diagnostic> broken_by_variables(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  v1alpha1::Worker worker;
  for (const auto& [name, value] : variables) {
    worker.add_env()->set_name(name);
    worker.mutable_env()->rbegin()->set_value(value);
  }
  return violated_cel_rules(Node{}, worker, UnreliableFields{});
}

TEST(CelRules, NamesOfTheLoaderTheCollectivesAndOfOursAreRefused) {
  for (const char* name :
       {"LD_PRELOAD", "LD_", "DYLD_INSERT_LIBRARIES", "GCONV_PATH", "GLIBC_TUNABLES", "CUDA_INJECTION32_PATH",
        "CUDA_INJECTION64_PATH", "NVTX_INJECTION32_PATH", "NVTX_INJECTION64_PATH", "IBV_DRIVERS",
        "RDMAV_DRIVERS", "OPENSSL_CONF", "CARAVAN_NODE_INDEX", "CARAVAN_ATTENTION_", "NCCL_NET_PLUGIN",
        "NCCL_DEBUG_FILE", "TORCH_NCCL_BLOCKING_WAIT", "GLOO_DEVICE"}) {
    EXPECT_EQ(broken_by_variables({{name, "x"}}).size(), 1U) << name;
  }
  for (const char* name : {"PATH", "LDFLAGS", "MY_LD_PRELOAD", "CUDA_LAUNCH_BLOCKING", "IBV_FORK_SAFE",
                           "OMP_NUM_THREADS", "HTTP_PROXY", "CARAVAN_ATTENTION"}) {
    EXPECT_THAT(broken_by_variables({{name, "x"}}), IsEmpty()) << name;
  }
}

std::set<std::string> found(const std::string& text, const char* pattern) {
  const std::regex wanted(pattern);
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at)
    names.insert(at->str(1));
  return names;
}

TEST(CelRules, TheSentenceNamesTheVariablesOfTheCollectivesThatTheRuleAllows) {
  const auto& options = v1alpha1::EnvironmentVariable::descriptor()->options();
  const auto& rule = options.GetExtension(v1alpha1::cel, options.ExtensionSize(v1alpha1::cel) - 1);
  const auto allowed = found(rule.rule(), "'([A-Z0-9_]+)'");
  EXPECT_GT(allowed.size(), 20U);
  EXPECT_EQ(allowed, found(rule.message(), "([A-Z]+_[A-Z0-9_]*[A-Z])"));
}

TEST(CelRules, VariablesAreCountedInBytesOfNamesAndValues) {
  const std::string two_bytes = "\xC3\xA9";
  std::string value;
  for (int i = 0; i < 4095; ++i) value += two_bytes;
  EXPECT_THAT(broken_by_variables({{"A", value}, {"B", value + "ab"}}), IsEmpty());
  EXPECT_EQ(broken_by_variables({{"A", value}, {"B", value + "abc"}}).size(), 1U);
}

}  // namespace
}  // namespace caravan::schema
