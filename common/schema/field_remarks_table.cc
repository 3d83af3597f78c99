// Writes the table behind field_remarks.h, a C++ source, from the schema.
//
// usage: field_remarks_table DESCRIPTOR_SET, as api_reference takes it.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "common/json.h"
#include "common/schema/remarks.h"

namespace caravan::schema {
namespace {

constexpr const char* kStart = R"(// Written by field_remarks_table from job.proto.
#include "common/schema/field_remarks.h"

#include <map>
#include <string>

namespace caravan::schema {

std::string_view field_remarks(const google::protobuf::FieldDescriptor& field) {
  static const std::map<std::string_view, std::string_view> kRemarks = {
)";

constexpr const char* kEnd = R"(  };
  const auto found = kRemarks.find(field.full_name());
  return found == kRemarks.end() ? std::string_view() : found->second;
}

}  // namespace caravan::schema
)";

// A string of JSON is one of C++, but for what the schema does not hold: control characters.
std::string entries_of(const google::protobuf::Descriptor& type) {
  std::string text;
  for (int i = 0; i < type.field_count(); ++i) {
    const std::string remarks = remarks_on(*type.field(i));
    if (remarks.empty()) continue;
    text += fmt::format("      {{{}, {}}},\n", json_string(type.field(i)->full_name()), json_string(remarks));
  }
  return text;
}

int write_table(const char* path) {
  google::protobuf::FileDescriptorSet files;
  std::ifstream input(path, std::ios::binary);
  if (!files.ParseFromIstream(&input)) {
    fmt::print(stderr, "{}: is not a descriptor set\n", path);
    return 2;
  }
  google::protobuf::DescriptorPool pool;
  for (const auto& file : files.file()) pool.BuildFile(file);
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
  fmt::print(stderr, "usage: field_remarks_table DESCRIPTOR_SET\n");
  return 2;
}
