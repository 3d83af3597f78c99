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

void audit_call(Audit& audit, const Call& call, AuditedCall asked, bool admitted,
                const Answer<std::unique_ptr<Message>>& answer) {
  if (!admitted) return audit.refused_at_the_gate(call, asked, answer.error());
  const auto* job = answer ? dynamic_cast<const v1alpha1::Job*>(answer->get()) : nullptr;
  if (job != nullptr) asked.resource = job->name();
  audit.method_ended(call, asked, answer ? nullptr : &answer.error());
}

}  // namespace caravan::service
