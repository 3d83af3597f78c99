// Writes the CustomResourceDefinition of a job, deploy/helm/caravan/files/crds/*.yaml, from the schema:
// job.proto.
//
// usage: crd DESCRIPTOR_SET, as `protoc --include_source_info --include_imports --descriptor_set_out` makes
// it.
#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include <cstdio>

#include "common/schema/crd/custom_resource.h"
#include "common/schema/field_descriptions.h"

namespace caravan::schema {
namespace {

constexpr const char* kHeader =
    "# Generated from proto/caravan/v1alpha1/job.proto by `ninja -C build/release crds`; a test fails when "
    "it is stale.\n";

int complain(std::string_view sentence) {
  fmt::print(stderr, "{}\n", sentence);
  return static_cast<int>(ExitCode::kBadInput);
}

int write_definition(const char* path) {
  google::protobuf::DescriptorPool pool;
  if (const Status read = read_descriptor_set(path, pool); !read) return complain(read.error().message);
  const auto* object = pool.FindMessageTypeByName("caravan.v1alpha1.LlamaTrainingJob");
  if (object == nullptr) return complain(fmt::format("{}: holds no LlamaTrainingJob", path));
  const auto definition = custom_resource_definition(*object);
  if (!definition) return complain(definition.error().message);
  fmt::print("{}{}", kHeader, *definition);
  return 0;
}

}  // namespace
}  // namespace caravan::schema

int main(int argc, char** argv) {
  if (argc == 2) return caravan::schema::write_definition(argv[1]);
  return caravan::schema::complain("usage: crd DESCRIPTOR_SET");
}
