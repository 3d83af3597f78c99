#include "tests/crd/job_server.h"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <fstream>
#include <iterator>
#include <regex>
#include <utility>

#include "common/testing/checkout.h"

namespace caravan::kube::testing {
namespace {

const Resource kDefinitions{
    .group = "apiextensions.k8s.io", .version = "v1", .plural = "customresourcedefinitions"};
constexpr const char* kDefinition = "llamatrainingjobs.training.caravan.dev";
constexpr const char* kApplyType = "application/apply-patch+yaml";
constexpr int kConflict = 409;

// A new definition has null for its conditions.
bool is_established(const Json& definition) {
  const Json* conditions = find(definition, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return false;
  for (const Json& condition : conditions->as_array()) {
    if (text_at(condition, {"type"}) == "Established") return text_at(condition, {"status"}) == "True";
  }
  return false;
}

}  // namespace

std::string contents_of(const std::string& path) {
  std::ifstream file(test::source_folder() + "/" + path, std::ios::binary);
  if (!file) ADD_FAILURE() << path << " cannot be read";
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string job_yaml(int pods, const std::string& more, const std::string& name) {
  return fmt::format(R"(
apiVersion: training.caravan.dev/v1alpha1
kind: LlamaTrainingJob
metadata: {{name: {}}}
spec:
  model: {{preset: llama-tiny}}
  data: {{claimName: corpus, path: train.bin}}
  training: {{steps: 100, sequenceLength: 64, globalBatchSequences: {}}}
  resources: {{devices: {}, devicesPerNode: 2, device: {{kind: CPU, memory: 4Gi}}}}
{})",
                     name, 4 * pods, 2 * pods, more);
}

std::string Cause::sentence() const {
  static const std::regex kValue(R"re(^(Invalid value: ("([^"\\]|\\.)*"|[^ ]*)|Forbidden): )re");
  return std::regex_replace(message, kValue, "", std::regex_constants::format_first_only);
}

std::vector<Cause> Answer::causes() const {
  std::vector<Cause> all;
  const Json* causes = find(body, {"details", "causes"});
  if (causes == nullptr) return all;
  for (const Json& cause : causes->as_array()) {
    all.push_back({.field = text_at(cause, {"field"}), .message = text_at(cause, {"message"})});
  }
  return all;
}

bool Answer::refuses(const std::string& field, const std::string& sentence) const {
  for (const Cause& cause : causes()) {
    if (cause.field == field && cause.sentence() == sentence) return true;
  }
  return false;
}

JobServer::JobServer() : name_space_(server_.make_namespace()) {
  static const bool is_installed = install();
  EXPECT_TRUE(is_installed);
}

// Once for each server, which takes a good part of a second for it.
bool JobServer::install() {
  const ResourcePath path{.resource = kDefinitions};
  if (!client().get({}, path, kDefinition) && !apply_definition()) return false;
  await([&] {
    const auto definition = client().get({}, path, kDefinition);
    return definition && is_established(*definition) && client().list({}, jobs(), {}).has_value();
  });
  return true;
}

// Programs run at once: those that find none apply the same text, and the one that loses the race to create
// it tries again.
bool JobServer::apply_definition() {
  const HttpRequest request{
      .method = "PATCH",
      .target = object_path({.resource = kDefinitions}, kDefinition) +
                query_string({{"fieldManager", "test"}, {"force", "true"}}),
      .headers = {{"Content-Type", kApplyType}},
      .body = contents_of(std::string("deploy/helm/caravan/files/crds/") + kDefinition + ".yaml")};
  Answer applied = call(request);
  while (applied.status == kConflict) applied = call(request);
  if (!applied.is_success()) ADD_FAILURE() << applied.message();
  return applied.is_success();
}

Answer JobServer::call(const HttpRequest& request) {
  const auto response = server_.transport.call({}, request);
  if (!response) {
    ADD_FAILURE() << response.error().message;
    return {};
  }
  auto body = parse_json(response->body, request.target);
  if (!body) ADD_FAILURE() << body.error().message;
  return {.status = response->head.status, .body = body.value_or(Json{})};
}

Answer JobServer::send(const std::string& method, const std::string& target, const std::string& type,
                       const std::string& body, Query query) {
  query.emplace_back("fieldValidation", "Strict");
  return call({.method = method,
               .target = collection_path(jobs()) + target + query_string(query),
               .headers = {{"Content-Type", type}},
               .body = body});
}

Answer JobServer::merge(const std::string& target, const Json& patch) {
  return send("PATCH", target, "application/merge-patch+json", boost::json::serialize(patch));
}

Answer JobServer::apply(const std::string& target, const Json& intent, const std::string& manager) {
  return send("PATCH", target, kApplyType, boost::json::serialize(intent), {{"fieldManager", manager}});
}

std::string JobServer::token(const std::string& account, const std::string& audience, const Json* pod) {
  const Resource accounts{.group = "", .version = "v1", .plural = "serviceaccounts"};
  JsonObject spec{{"audiences", JsonArray{Json(audience)}}, {"expirationSeconds", 600}};
  if (pod != nullptr)
    spec["boundObjectRef"] =
        JsonObject{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", key_of(*pod).name}, {"uid", uid_of(*pod)}};
  const Json request = JsonObject{
      {"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", std::move(spec)}};
  const Answer answer =
      call({.method = "POST",
            .target = object_path({.resource = accounts, .name_space = name_space_}, account, "token"),
            .headers = {{"Content-Type", "application/json"}},
            .body = boost::json::serialize(request)});
  if (!answer.is_success()) ADD_FAILURE() << answer.message();
  return text_at(answer.body, {"status", "token"});
}

void JobServer::await_right(const std::string& user, const std::string& verb) {
  const Resource reviews{.group = "authorization.k8s.io", .version = "v1", .plural = "subjectaccessreviews"};
  const Json review =
      JsonObject{{"apiVersion", "authorization.k8s.io/v1"},
                 {"kind", "SubjectAccessReview"},
                 {"spec", JsonObject{{"user", user},
                                     {"resourceAttributes", JsonObject{{"group", kJobs.group},
                                                                       {"resource", kJobs.plural},
                                                                       {"verb", verb},
                                                                       {"namespace", name_space_}}}}}};
  await([&] {
    const auto answer = client().create({}, {.resource = reviews}, review);
    return answer && flag_at(*answer, {"status", "allowed"});
  });
}

Answer JobServer::table() {
  return call({.target = collection_path(jobs()),
               .headers = {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}}});
}

}  // namespace caravan::kube::testing
