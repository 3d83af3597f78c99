// Writes the table behind compiled_description_of, a C++ source, from the schema.
//
// usage: field_descriptions_table DESCRIPTOR_SET, as api_reference takes it.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <cstdio>
#include <string>

#include "common/json.h"
#include "common/schema/field_descriptions.h"

namespace caravan::schema {
namespace {

constexpr const char* kStart = R"(// Written by field_descriptions_table from job.proto.
#include "common/schema/field_descriptions.h"

#include <map>
#include <string>

namespace caravan::schema {

std::string_view compiled_description_of(const google::protobuf::FieldDescriptor& field) {
  static const std::map<std::string_view, std::string_view> kDescriptions = {
)";

constexpr const char* kEnd = R"(  };
  const auto found = kDescriptions.find(field.full_name());
  return found == kDescriptions.end() ? std::string_view() : found->second;
}

}  // namespace caravan::schema
)";

// A string of JSON is one of C++, but for what the schema does not hold: control characters.
std::string entries_of(const google::protobuf::Descriptor& type) {
  std::string text;
  for (int i = 0; i < type.field_count(); ++i) {
    const std::string description = description_of(*type.field(i));
    if (description.empty()) continue;
    text +=
        fmt::format("      {{{}, {}}},\n", json_string(type.field(i)->full_name()), json_string(description));
  }
  return text;
}

int write_table(const char* path) {
  google::protobuf::DescriptorPool pool;
  if (const Status read = read_descriptor_set(path, pool); !read) {
    fmt::print(stderr, "{}\n", read.error().message);
    return 2;
  }
  const auto& jobs = *pool.FindFileByName("caravan/v1alpha1/job.proto");
  std::string text = kStart;
  for (int i = 0; i < jobs.message_type_count(); ++i) text += entries_of(*jobs.message_type(i));
  fmt::print("{}{}", text, kEnd);
  return 0;
}

}  // namespace
}  // namespace caravan::schema

int main(int argc, char** argv) {
  if (argc == 2) return caravan::schema::write_table(argv[1]);
  fmt::print(stderr, "usage: field_descriptions_table DESCRIPTOR_SET\n");
  return 2;
}
