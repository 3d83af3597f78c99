#include "service/rpc/known_fields.h"

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include <string>
#include <vector>

#include "caravan/v1alpha1/job.pb.h"
#include "common/schema/message_text.h"
#include "common/version.h"

namespace caravan::service {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using v1alpha1::LlamaTrainingJob;

// Which a job that was read and is sent again has, and no request changes.
bool is_status(const FieldDescriptor& field) {
  return field.containing_type() == LlamaTrainingJob::descriptor() &&
         field.number() == LlamaTrainingJob::kStatusFieldNumber;
}

// No deeper than protobuf reads a message.
Answer<void> check(const Message& message, const std::string& path) {
  const Reflection& all = *message.GetReflection();
  if (const auto& unknown = all.GetUnknownFields(message); !unknown.empty())
    return bad_field(path.empty() ? "request" : path,
                     fmt::format("has field {}, which this service ({}) does not know; have it upgraded",
                                 unknown.field(0).number(), version()));
  std::vector<const FieldDescriptor*> fields;
  all.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool has_messages = field->message_type() != nullptr && !field->is_map();  // maps are of texts
    if (!has_messages || is_status(*field)) continue;
    const std::string at = schema::child_path(path, field->json_name());
    if (!field->is_repeated()) {
      if (auto known = check(all.GetMessage(message, field), at); !known) return known;
      continue;
    }
    for (int i = 0; i < all.FieldSize(message, field); ++i) {
      if (auto known = check(all.GetRepeatedMessage(message, field, i), fmt::format("{}[{}]", at, i)); !known)
        return known;
    }
  }
  return {};
}

}  // namespace

Answer<void> check_fields_are_known(const Message& request) {
  return check(request, "");
}

}  // namespace caravan::service
