// Writes docs/reference/openapi.json, the API over HTTP, from the schema.
//
// usage: openapi DESCRIPTOR_SET, as `protoc --include_source_info --include_imports --descriptor_set_out`
// makes it of job_service.proto.
#include <fmt/format.h>

#include <cstdio>

#include "common/schema/field_descriptions.h"
#include "service/json/openapi.h"

namespace caravan::service {
namespace {

int write_document(const char* path) {
  google::protobuf::DescriptorPool pool;
  if (const Status read = schema::read_descriptor_set(path, pool); !read) {
    fmt::print(stderr, "{}\n", read.error().message);
    return 2;
  }
  fmt::print("{}", openapi_document(*pool.FindServiceByName("caravan.v1alpha1.JobService")));
  return 0;
}

}  // namespace
}  // namespace caravan::service

int main(int argc, char** argv) {
  if (argc == 2) return caravan::service::write_document(argv[1]);
  fmt::print(stderr, "usage: openapi DESCRIPTOR_SET\n");
  return 2;
}
