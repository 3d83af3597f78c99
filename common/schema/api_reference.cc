// Writes the API reference, docs/reference/api.md, from the schema: comments, bounds, defaults and rules of
// job.proto.
//
// usage: api_reference DESCRIPTOR_SET, as `protoc --include_source_info --include_imports
// --descriptor_set_out` makes it.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>
#include <vector>

#include "common/schema/field_descriptions.h"
#include "common/schema/field_rules.h"

namespace caravan::schema {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using v1alpha1::FieldRules;

constexpr const char* kHeader = R"(# API reference: LlamaTrainingJob, training.caravan.dev/v1alpha1

Generated from `proto/caravan/v1alpha1/job.proto`; a test fails when it is stale. `caravan validate` checks everything
below and reports all mistakes at once.

A file is YAML or JSON: one document, UTF-8, at most 1 MiB and 64 levels, without anchors, aliases and tags. Names and
values are case-sensitive. Decimal fractions and quantities are strings; without quotes they are taken too, with a note,
since the API server needs the quotes. Given strings are not empty. What the API server writes into an object (`status`,
`metadata.uid` and the like) is ignored with a note. `--set PATH=VALUE` overrules a field of the file by the same rules;
a list is written as in YAML: `--set spec.parallelism.layersPerStage=[2,2]`.
)";

// As Markdown renderers name headings.
std::string anchor_of(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::string type_of(const FieldDescriptor& field) {
  if (field.is_map()) return "map of names to strings";
  const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  const std::string& name = is_message ? field.message_type()->name() : "";
  std::string single = is_message ? fmt::format("[{}](#{})", name, anchor_of(name)) : expectation(field);
  if (!field.is_repeated()) return single;
  return fmt::format("list of at most {}, each {}", rules_of(field).max_items(), single);
}

std::string default_of(const FieldDescriptor& field) {
  const FieldRules& rules = rules_of(field);
  if (rules.required()) return "**required**";
  return rules.default_value().empty() ? "" : fmt::format("`{}`", rules.default_value());
}

void describe(const Descriptor& type, std::vector<const Descriptor*>& described, std::string& out) {
  if (std::find(described.begin(), described.end(), &type) != described.end()) return;
  described.push_back(&type);
  out += fmt::format("\n## {}\n\n", type.name());
  if (const std::string comment = comment_of(type); !comment.empty()) out += comment + "\n\n";
  out += "| field | value | default | meaning |\n|---|---|---|---|\n";
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    out += fmt::format("| `{}` | {} | {} | {} |\n", field.json_name(), type_of(field), default_of(field),
                       description_of(field));
  }
  if (type.options().ExtensionSize(v1alpha1::cel) > 0) out += "\nRules:\n\n";
  for (int i = 0; i < type.options().ExtensionSize(v1alpha1::cel); ++i) {
    out += fmt::format("- {}\n", type.options().GetExtension(v1alpha1::cel, i).message());
  }
  for (int i = 0; i < type.field_count(); ++i) {
    const Descriptor* inner = type.field(i)->message_type();
    if (inner != nullptr && !type.field(i)->is_map()) describe(*inner, described, out);
  }
}

int write_reference(const char* path) {
  DescriptorPool pool;
  if (const Status read = read_descriptor_set(path, pool); !read) {
    fmt::print(stderr, "{}\n", read.error().message);
    return 2;
  }
  std::string out = kHeader;
  std::vector<const Descriptor*> described;
  describe(*pool.FindMessageTypeByName("caravan.v1alpha1.LlamaTrainingJob"), described, out);
  fmt::print("{}", out);
  return 0;
}

}  // namespace
}  // namespace caravan::schema

int main(int argc, char** argv) {
  if (argc == 2) return caravan::schema::write_reference(argv[1]);
  fmt::print(stderr, "usage: api_reference DESCRIPTOR_SET\n");
  return 2;
}
