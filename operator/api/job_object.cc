#include "operator/api/job_object.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "common/json.h"
#include "common/schema/field_rules.h"
#include "common/schema/loader.h"
#include "common/schema/message_text.h"
#include "kube/api/timestamp.h"
#include "operator/api/document_tree.h"
#include "operator/api/names.h"
#include "operator/api/read_message.h"

namespace caravan::controller {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using schema::Node;
using schema::NodeKind;

// Metadata belongs to the API server, but for what names follow from.
Node judged_part(const kube::Json& object) {
  kube::JsonObject part;
  for (const char* field : {"apiVersion", "kind", "spec"}) {
    if (const kube::Json* value = kube::find(object, {field})) part[field] = *value;
  }
  part["metadata"] = kube::JsonObject{{"name", kube::key_of(object).name}};
  return to_node(part, "");
}

void drop_unknown(Node& node, const Descriptor& type, const std::string& path,
                  std::vector<std::string>& dropped) {
  std::erase_if(node.children, [&](const Node& entry) {
    const bool is_unknown = schema::find_field(type, entry.key) == nullptr;
    if (is_unknown) dropped.push_back(schema::child_path(path, entry.key));
    return is_unknown;
  });
  for (Node& entry : node.children) {
    const FieldDescriptor& field = *schema::find_field(type, entry.key);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field.is_map()) continue;
    const std::string inner = schema::child_path(path, entry.key);
    if (entry.kind == NodeKind::kMap) drop_unknown(entry, *field.message_type(), inner, dropped);
    if (entry.kind != NodeKind::kList) continue;
    for (std::size_t i = 0; i < entry.children.size(); ++i)
      drop_unknown(entry.children[i], *field.message_type(), fmt::format("{}[{}]", inner, i), dropped);
  }
}

// Whatever our rules say of its values.
v1alpha1::JobSpec spec_as_it_stands(const kube::Json& object, std::string& unreadable) {
  v1alpha1::JobSpec spec;
  const kube::Json* given = kube::find(object, {"spec"});
  const Status read =
      given == nullptr ? bad_input("it is missing") : read_message(*given, spec, Unknown::kFieldsDropped);
  if (!read) unreadable = "its spec cannot be read: " + read.error().message;
  schema::apply_defaults(spec);
  return spec;
}

// The fields that the message does not have; of lists and maps none.
kube::JsonObject later_fields(const kube::Json& from, const Descriptor& type) {
  kube::JsonObject later;
  if (!from.is_object()) return later;
  for (const auto& entry : from.get_object()) {
    const FieldDescriptor* field = schema::find_field(type, entry.key());
    if (field == nullptr) {
      later[entry.key()] = entry.value();
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_repeated()) {
      kube::JsonObject inner = later_fields(entry.value(), *field->message_type());
      if (!inner.empty()) later[entry.key()] = std::move(inner);
    }
  }
  return later;
}

void add_fields(const kube::JsonObject& more, kube::JsonObject& into) {
  for (const auto& entry : more) {
    kube::Json& there = into[entry.key()];
    if (there.is_object() && entry.value().is_object()) {
      add_fields(entry.value().get_object(), there.get_object());
    } else {
      there = entry.value();
    }
  }
}

// Fields that this version does not know are set aside. The reason when it cannot be read: then nobody may
// act on the job, because what must be remembered of it stands there.
std::string read_status(const kube::Json& object, Job& job) {
  const kube::Json* given = kube::find(object, {"status"});
  if (given == nullptr) return "";
  job.later_status = later_fields(*given, *v1alpha1::JobStatus::descriptor());
  const Status read = read_message(*given, job.status, Unknown::kDropped);
  return read ? "" : "its status cannot be read: " + read.error().message;
}

kube::JsonObject reference_of(const kube::Json& object) {
  kube::JsonObject metadata;
  for (const char* field : {"name", "namespace", "uid", "resourceVersion"}) {
    if (const kube::Json* value = kube::find(object, {"metadata", field})) metadata[field] = *value;
  }
  return {{"apiVersion", kApiVersion}, {"kind", kKind}, {"metadata", std::move(metadata)}};
}

}  // namespace

Job read_job_but_spec(const kube::Json& object) {
  Job job;
  job.key = kube::key_of(object);
  job.uid = kube::uid_of(object);
  job.generation = static_cast<int>(kube::integer_at(object, {"metadata", "generation"}).value_or(0));
  job.created_at = to_time(kube::text_at(object, {"metadata", "creationTimestamp"})).value_or(TimePoint{});
  job.being_deleted = kube::is_being_deleted(object);
  job.checkpoint_request = kube::text_at(object, {"metadata", "annotations", annotations::kCheckpoint});
  job.labels = kube::texts_at(object, {"metadata", "labels"});
  job.annotations = kube::texts_at(object, {"metadata", "annotations"});
  job.reference = reference_of(object);
  job.unreadable_status = read_status(object, job);
  return job;
}

void read_spec(const kube::Json& object, Job& job) {
  Node tree = judged_part(object);
  drop_unknown(tree, *v1alpha1::LlamaTrainingJob::descriptor(), "", job.unknown_fields);
  v1alpha1::LlamaTrainingJob message;
  for (const schema::Diagnostic& error : schema::load_message(tree, message).errors) {
    job.mistakes.push_back(error.path.empty() ? error.text : fmt::format("{}: {}", error.path, error.text));
  }
  job.spec = job.mistakes.empty() ? message.spec() : spec_as_it_stands(object, job.unreadable_spec);
}

Job read_job(const kube::Json& object) {
  Job job = read_job_but_spec(object);
  read_spec(object, job);
  return job;
}

bool is_left_alone(const Job& job) {
  const std::string& manager = job.spec.managed_by();
  return job.being_deleted || !(manager.empty() || manager == kController);
}

int ranks_per_node(const Job& job) {
  const auto document = kube::parse_json(job.status.plan().document(), "status.plan.document");
  const auto planned =
      document ? kube::integer_at(*document, {"plan", "devicesPerNode"}) : std::optional<std::int64_t>();
  if (planned) return static_cast<int>(*planned);
  const v1alpha1::Resources& resources = job.spec.resources();
  return resources.has_devices_per_node() ? std::min(resources.devices_per_node(), resources.devices()) : 0;
}

kube::Json status_intent(const Job& job, const v1alpha1::JobStatus& status) {
  const kube::JsonObject metadata{{"name", job.key.name},
                                  {"namespace", job.key.name_space},
                                  {"uid", job.uid},
                                  {"resourceVersion", kube::version_of(job.reference)}};
  kube::Json written = kube::parse_json(text_of(status), "status").value();
  add_fields(job.later_status, written.as_object());
  return kube::JsonObject{
      {"apiVersion", kApiVersion}, {"kind", kKind}, {"metadata", metadata}, {"status", std::move(written)}};
}

std::string text_of(const v1alpha1::JobStatus& status) {
  return to_json(status);
}

std::string to_text(TimePoint time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

std::optional<TimePoint> to_time(const std::string& text) {
  return kube::parse_timestamp(text);
}

}  // namespace caravan::controller
