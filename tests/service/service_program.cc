#include "tests/service/service_program.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <iostream>
#include <random>
#include <regex>
#include <thread>

#include "common/listen.h"
#include "common/testing/await.h"
#include "common/testing/checkout.h"
#include "operator/api/names.h"

namespace caravan::service::testing {

using kube::Json;
using kube::JsonArray;
using kube::JsonObject;

namespace {

using test::kPatience;
const kube::Resource kRoles{.group = "rbac.authorization.k8s.io", .version = "v1", .plural = "roles"};
const kube::Resource kRoleBindings{
    .group = "rbac.authorization.k8s.io", .version = "v1", .plural = "rolebindings"};

// Below those that the kernel gives to connections: such a one could have it while the service is away.
int port_that_stays() {
  constexpr int kFirst = 20000;
  constexpr int kPorts = 12000;
  std::random_device random;
  while (true) {
    const int port = kFirst + static_cast<int>(random() % kPorts);
    if (listen_on("127.0.0.1", std::to_string(port))) return port;
  }
}

JsonArray json_of(const std::vector<std::string>& texts) {
  JsonArray all;
  for (const std::string& text : texts) all.emplace_back(text);
  return all;
}

}  // namespace

std::unique_ptr<grpc::ClientContext> Person::call() const {
  auto context = std::make_unique<grpc::ClientContext>();
  if (!token.empty()) context->AddMetadata("authorization", "Bearer " + token);
  context->set_deadline(std::chrono::system_clock::now() + kPatience);
  return context;
}

ServiceProgram::ServiceProgram() {
  renew_certificate();
  folder_.write("ca.crt", authority_.certificate_pem);
}

void ServiceProgram::renew_certificate() {
  const auto pair =
      issue_certificate(authority_, {.common_name = "caravan-service", .dns_names = {"localhost"}});
  folder_.write("tls.crt", pair->certificate_pem);
  folder_.write("tls.key", pair->key_pem);
}

ServiceProgram::~ServiceProgram() {
  if (HasFailure()) std::cerr << "log of the service:\n" << log();
}

std::string ServiceProgram::log() {
  return ::caravan::test::contents(folder_.path("log"));
}

void ServiceProgram::start(const std::vector<std::string>& more) {
  arguments_ = {"--kubeconfig",      std::getenv("KUBECONFIG"),
                "--namespace",       server_.name_space(),
                "--probes",          "127.0.0.1:0",
                "--metrics",         "127.0.0.1:0",
                "--tls-certificate", folder_.path("tls.crt"),
                "--tls-key",         folder_.path("tls.key")};
  arguments_.insert(arguments_.end(), more.begin(), more.end());
  start_again();
}

void ServiceProgram::die() {
  program_.reset();
}

void ServiceProgram::start_again() {
  if (address_.empty()) address_ = fmt::format("127.0.0.1:{}", port_that_stays());
  std::vector<std::string> arguments = arguments_;
  arguments.insert(arguments.end(), {"--listen", address_});
  const std::size_t said_before = log().size();
  const UniqueFd log_file(open(folder_.path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  program_ = Process::spawn({.program = ::caravan::test::program_folder() + "/caravan-service",
                             .arguments = std::move(arguments),
                             .stdout_fd = log_file.get(),
                             .stderr_fd = log_file.get()})
                 .value();
  await_start(said_before);
}

void ServiceProgram::await_start(std::size_t said_before) {
  const std::regex port(R"re("port":"(\d+)")re");
  // Said before the port.
  const std::regex http_address(R"re("http_address":"([^"]+)")re");
  const std::regex probes(R"re("probes":"([^"]+)")re");
  const std::regex metrics(R"re("metrics":"([^"]+)")re");
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (std::smatch found;; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "the service does not start";
    const std::string text = log().substr(said_before);
    if (std::regex_search(text, found, http_address)) http_address_ = found[1].str();
    if (std::regex_search(text, found, probes)) probes_ = found[1].str();
    if (std::regex_search(text, found, metrics)) metrics_ = found[1].str();
    if (std::regex_search(text, port)) return;
  }
}

void ServiceProgram::make_account(const std::string& name, const std::vector<std::string>& verbs,
                                  const MoreRights& more) {
  const auto create = [&](const kube::Resource& resource, JsonObject object) {
    const auto made = server_.client().create({}, {.resource = resource, .name_space = server_.name_space()},
                                              Json(std::move(object)));
    if (!made) ADD_FAILURE() << made.error().message;
  };
  const JsonObject metadata{{"name", name}};
  create(controller::kServiceAccounts,
         {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", metadata}});
  if (verbs.empty()) return;
  const auto rule = [](const char* group, JsonArray resources, const std::vector<std::string>& allowed) {
    return JsonObject{
        {"apiGroups", JsonArray{group}}, {"resources", std::move(resources)}, {"verbs", json_of(allowed)}};
  };
  JsonArray rules{
      rule(controller::kGroup, {controller::kJobs.plural}, verbs),
      rule("", {"pods", "persistentvolumeclaims", "secrets", "configmaps"}, more.on_pods.value_or(verbs)),
      rule("events.k8s.io", {"events"}, {"list"})};
  if (more.reads_logs) rules.push_back(rule("", {"pods/log"}, {"get"}));
  if (more.lists_quotas) rules.push_back(rule("", {"resourcequotas"}, {"list"}));
  create(kRoles, {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                  {"kind", "Role"},
                  {"metadata", metadata},
                  {"rules", std::move(rules)}});
  create(
      kRoleBindings,
      {{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "RoleBinding"},
       {"metadata", metadata},
       {"roleRef", JsonObject{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", name}}},
       {"subjects", JsonArray{JsonObject{
                        {"kind", "ServiceAccount"}, {"name", name}, {"namespace", server_.name_space()}}}}});
  server_.await_right(fmt::format("system:serviceaccount:{}:{}", server_.name_space(), name), verbs.front());
}

// It goes by a copy of the accounts, a moment behind, and by a token that was good for ten seconds: each try
// has its own.
void ServiceProgram::remove_account(const std::string& name) {
  constexpr int kTries = 10;
  std::vector<std::string> tokens;
  for (int i = 0; i < kTries; ++i) tokens.push_back(token(name, {kServerAudience}));
  const auto removed = server_.client().remove(
      {}, {.resource = controller::kServiceAccounts, .name_space = server_.name_space()}, name, {});
  if (!removed) ADD_FAILURE() << removed.error().message;
  auto pause = std::chrono::milliseconds(10);
  for (const std::string& shown : tokens) {
    if (!is_known(shown)) return;
    std::this_thread::sleep_for(pause *= 2);
  }
  ADD_FAILURE() << "tokens of " << name << " are still good";
}

bool ServiceProgram::is_known(const std::string& token) {
  const auto review = server_.client().create({}, {.resource = controller::kTokenReviews},
                                              Json(JsonObject{{"apiVersion", "authentication.k8s.io/v1"},
                                                              {"kind", "TokenReview"},
                                                              {"spec", JsonObject{{"token", token}}}}));
  if (!review) ADD_FAILURE() << review.error().message;
  return review && kube::flag_at(*review, {"status", "authenticated"});
}

void ServiceProgram::remove_rights(const std::string& account) {
  const auto removed = server_.client().remove(
      {}, {.resource = kRoleBindings, .name_space = server_.name_space()}, account, {});
  if (!removed) ADD_FAILURE() << removed.error().message;
}

std::string ServiceProgram::token(const std::string& account, const std::vector<std::string>& audiences,
                                  int lifetime_seconds) {
  const Json request = JsonObject{
      {"apiVersion", "authentication.k8s.io/v1"},
      {"kind", "TokenRequest"},
      {"spec", JsonObject{{"audiences", json_of(audiences)}, {"expirationSeconds", lifetime_seconds}}}};
  const auto answer = server_.call(
      {.method = "POST",
       .target = kube::object_path(
           {.resource = controller::kServiceAccounts, .name_space = server_.name_space()}, account, "token"),
       .headers = {{"Content-Type", "application/json"}},
       .body = boost::json::serialize(request)});
  if (!answer.is_success()) ADD_FAILURE() << answer.message();
  return kube::text_at(answer.body, {"status", "token"});
}

Person ServiceProgram::person(const std::string& token, const KeyPair& certificate,
                              grpc::ChannelArguments arguments) {
  grpc::SslCredentialsOptions tls{.pem_root_certs = authority_.certificate_pem,
                                  .pem_private_key = certificate.key_pem,
                                  .pem_cert_chain = certificate.certificate_pem};
  arguments.SetSslTargetNameOverride("localhost");
  auto channel = grpc::CreateCustomChannel(address_, grpc::SslCredentials(tls), arguments);
  auto stub = v1alpha1::JobService::NewStub(channel);
  return {std::move(channel), std::move(stub), token};
}

v1alpha1::LlamaTrainingJob ServiceProgram::job(const std::string& name) const {
  v1alpha1::LlamaTrainingJob job;
  job.mutable_metadata()->set_name(name);
  v1alpha1::JobSpec& spec = *job.mutable_spec();
  spec.mutable_model()->set_preset("llama-tiny");
  spec.mutable_data()->set_claim_name("corpus");
  spec.mutable_data()->set_path("train.bin");
  spec.mutable_training()->set_steps(100);
  spec.mutable_training()->set_sequence_length(64);
  spec.mutable_training()->set_global_batch_sequences(8);
  spec.mutable_resources()->set_devices(2);
  spec.mutable_resources()->mutable_device()->set_kind(v1alpha1::Device::CPU);
  return job;
}

void ServiceProgram::create_job(const std::string& name) {
  const auto created =
      server_.create(kube::testing::job_yaml(1, "  checkpoint: {claimName: states, path: train}", name));
  ASSERT_TRUE(created.is_success()) << created.message();
}

v1alpha1::Job ServiceProgram::await_job(const Person& person, const std::string& name) {
  v1alpha1::GetJobRequest request;
  request.set_name(job_name(name));
  v1alpha1::Job job;
  grpc::Status status;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    status = person.stub->GetJob(person.call().get(), request, &job);
    if (status.ok()) return job;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (std::chrono::steady_clock::now() < end);
  ADD_FAILURE() << "waited in vain for " << name << ": " << status.error_message();
  return job;
}

}  // namespace caravan::service::testing
