#include "tests/kube/operator_program.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "common/testing/checkout.h"
#include "common/testing/shell.h"

namespace caravan::controller::testing {

OperatorProgram::OperatorProgram()
    : log_(std::filesystem::temp_directory_path() / (server_.name_space() + ".log")) {
  kube::testing::make_lease(client(), {server_.name_space(), "caravan-operator"});
}

OperatorProgram::~OperatorProgram() {
  if (HasFailure()) std::cerr << "log of the operators:\n" << std::ifstream(log_).rdbuf();
  std::filesystem::remove(log_);
}

Process OperatorProgram::start_operator(const std::vector<std::string>& more) {
  const std::string& name_space = server_.name_space();
  std::vector<std::string> arguments{"--kubeconfig",      std::getenv("KUBECONFIG"),
                                     "--namespace",       name_space,
                                     "--lease-namespace", name_space,
                                     "--worker-image",    "worker:test",
                                     "--reports-address", "127.0.0.1:9443",
                                     "--reports-listen",  "127.0.0.1:0",
                                     "--probes",          "127.0.0.1:0",
                                     "--metrics",         "127.0.0.1:0"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const UniqueFd log(open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  return Process::spawn({.program = test::program_folder() + "/caravan-operator",
                         .arguments = std::move(arguments),
                         .stderr_fd = log.get()})
      .value();
}

void OperatorProgram::kill_leader(Process& program) {
  program.signal_group(SIGKILL);
  program.wait();
  const JsonObject free{{"spec", JsonObject{{"holderIdentity", ""}}}};
  EXPECT_TRUE(client().merge({}, at(kube::kLeases), "caravan-operator", free));
}

void OperatorProgram::create_job(const std::string& yaml) {
  const auto created = server_.create(yaml);
  ASSERT_TRUE(created.is_success()) << created.message();
}

void OperatorProgram::set_suspended(bool suspended) {
  const auto merged = server_.merge("/train", JsonObject{{"spec", JsonObject{{"suspend", suspended}}}});
  ASSERT_TRUE(merged.is_success()) << merged.message();
}

Json OperatorProgram::job(const std::string& name) {
  return client().get({}, at(kJobs), name).value_or(Json());
}

std::string OperatorProgram::condition(const std::string& type) {
  const Json read = job();
  const Json* conditions = kube::find(read, {"status", "conditions"});
  if (conditions == nullptr) return "";
  for (const Json& one : conditions->as_array()) {
    if (kube::text_at(one, {"type"}) == type)
      return fmt::format("{} {}: {}", kube::text_at(one, {"status"}), kube::text_at(one, {"reason"}),
                         kube::text_at(one, {"message"}));
  }
  return "";
}

JsonArray OperatorProgram::all(const kube::Resource& resource) {
  auto page =
      client().list({}, at(resource), {.label_selector = fmt::format("{}={}", labels::kManagedBy, kManager)});
  return page ? std::move(page->items) : JsonArray();
}

bool OperatorProgram::has_event(const std::string& reason) {
  const auto events = client().list({}, at(kube::kEvents), {});
  return events && std::any_of(events->items.begin(), events->items.end(), [&](const Json& event) {
           return kube::text_at(event, {"reason"}) == reason &&
                  kube::text_at(event, {"regarding", "name"}) == "train";
         });
}

std::vector<std::string> OperatorProgram::pods() {
  std::vector<std::string> names;
  for (const Json& pod : all(kube::kPods)) names.push_back(kube::key_of(pod).name);
  return names;
}

std::vector<std::string> OperatorProgram::children() {
  std::vector<std::string> names;
  for (const kube::Resource& resource :
       {kube::kPods, kServices, kConfigMaps, kServiceAccounts, kNetworkPolicies, kSecrets}) {
    for (const Json& child : all(resource)) names.push_back(resource.plural + "/" + kube::key_of(child).name);
  }
  return names;
}

void OperatorProgram::run(const std::string& pod) {
  bind(pod);
  mark(pod, {{"phase", "Running"}});
}

void OperatorProgram::end(const std::string& pod, const char* phase, int exit_code) {
  // An agent that ends well says so.
  const char* last_words = exit_code == 0 ? R"({"result":"Complete"})" : "";
  const JsonObject state{{"terminated", JsonObject{{"exitCode", exit_code}, {"message", last_words}}}};
  mark(pod, {{"phase", phase},
             {"containerStatuses", JsonArray{JsonObject{{"name", "worker"},
                                                        {"image", "worker:test"},
                                                        {"imageID", ""},
                                                        {"ready", false},
                                                        {"restartCount", 0},
                                                        {"state", state}}}}});
}

void OperatorProgram::remove_if_of(const std::string& owner_uid, const kube::Resource& resource,
                                   const Json& child) {
  if (kube::controller_uid_of(child) != owner_uid) return;
  const auto removed = client().remove({}, at(resource), kube::key_of(child).name, {});
  ASSERT_TRUE(removed) << removed.error().message;
}

void OperatorProgram::await_pods(const std::vector<std::string>& wanted) {
  await(::testing::PrintToString(wanted), [&] { return pods() == wanted; });
}

void OperatorProgram::await_state(const std::string& wanted) {
  await("state " + wanted, [&] { return job_text({"status", "state"}) == wanted; });
}

void OperatorProgram::await_condition(const std::string& type, const std::string& part) {
  await(type + " with '" + part + "'", [&] { return condition(type).find(part) != std::string::npos; });
}

std::string OperatorProgram::holder_of_the_lease() {
  const auto lease = client().get({}, at(kube::kLeases), "caravan-operator");
  return lease ? kube::text_at(*lease, {"spec", "holderIdentity"}) : "";
}

std::string OperatorProgram::await_log(const std::string& message, const std::string& field) {
  std::string value;
  await("the log says " + message, [&] {
    std::ifstream log(log_);
    for (std::string line; value.empty() && std::getline(log, line);) {
      const Json entry = kube::parse_json(line, "log").value_or(Json());
      if (kube::text_at(entry, {"message"}).find(message) != std::string::npos)
        value = kube::text_at(entry, {field});
    }
    return !value.empty();
  });
  return value;
}

std::vector<std::string> OperatorProgram::addresses() {
  std::vector<std::string> all;
  std::ifstream log(log_);
  for (std::string line; std::getline(log, line);) {
    const Json entry = kube::parse_json(line, "log").value_or(Json());
    if (kube::text_at(entry, {"message"}) == "probes and metrics are served")
      all.push_back(kube::text_at(entry, {"metrics"}));
  }
  return all;
}

double OperatorProgram::metric(const std::string& address, const std::string& series) {
  std::istringstream text(test::run_shell(fmt::format("curl --silent 'http://{}/metrics'", address)).out);
  for (std::string line; std::getline(text, line);) {
    if (line.rfind(series + " ", 0) == 0) return std::stod(line.substr(series.size()));
  }
  return 0;
}

std::string OperatorProgram::describe() {
  const Json read = job();
  const Json* status = kube::find(read, {"status"});
  return fmt::format("children {}, status {}", ::testing::PrintToString(children()),
                     status == nullptr ? "none" : boost::json::serialize(*status));
}

}  // namespace caravan::controller::testing
