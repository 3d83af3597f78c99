#include "service/audited_call.h"

#include <fmt/format.h>

#include "caravan/v1alpha1/job_service.pb.h"

namespace caravan::service {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string text_in(const Message& message, const char* name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  return field == nullptr ? "" : message.GetReflection()->GetString(message, field);
}

bool flag_in(const Message& message, const char* name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  return field != nullptr && message.GetReflection()->GetBool(message, field);
}

}  // namespace

AuditedCall audited_call(const std::string& method, const Message& request) {
  AuditedCall call{.method = method,
                   .resource = text_in(request, "name"),
                   .request_id = text_in(request, "request_id"),
                   .dry_run = flag_in(request, "validate_only")};
  if (const auto* creation = dynamic_cast<const v1alpha1::CreateJobRequest*>(&request))
    call.resource = fmt::format("{}/jobs/{}", creation->parent(), creation->job().metadata().name());
  return call;
}

AuditedCall with_answer(AuditedCall call, const Message* answer) {
  if (const auto* job = dynamic_cast<const v1alpha1::Job*>(answer)) call.resource = job->name();
  return call;
}

}  // namespace caravan::service
