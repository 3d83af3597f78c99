// The API over HTTP as an OpenAPI 3 document, from the schema: paths by the google.api.http options, and
// comments as descriptions.
//
// Guarantees: same schema, same text.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace caravan::service {

// JSON, two spaces an indentation. service: of descriptors that were built with source information.
std::string openapi_document(const google::protobuf::ServiceDescriptor& service);

}  // namespace caravan::service
