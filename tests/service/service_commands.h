// The command line on the API server, by the kubeconfig of an administrator, and on the job service beside it
// with --server, by the token of somebody who may do everything with jobs.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <thread>

#include "common/testing/await.h"
#include "common/testing/checkout.h"
#include "common/testing/shell.h"
#include "http/testing/client.h"
#include "kube/config/kubeconfig.h"
#include "tests/service/service_program.h"

namespace caravan::service::testing {

using ::caravan::test::Outcome;

// Of a table: as it is whenever it is printed.
inline std::string without_ages(const std::string& text) {
  static const std::regex kAges(R"(\b\d+(d\d+h|h\d+m|m\d+s|s|m)\b)");
  static const std::regex kSpaces(" +");
  return std::regex_replace(std::regex_replace(text, kAges, "AGE"), kSpaces, " ");
}

// A command beside the test, until it ends by itself, or with 124 where it does not.
class RunningCommand {
 public:
  // folder: where it runs and writes.
  RunningCommand(const ::caravan::test::TemporaryFolder& folder, const std::string& command)
      : folder_(folder), thread_([this, command] {
          const std::string line =
              fmt::format("cd '{}' && {{ timeout 120 {}; }} >told 2>said", folder_.path(""), command);
          code_ = ::caravan::test::run_shell(line).exit_code;
          is_over_ = true;
        }) {}

  std::string told() const { return ::caravan::test::contents(folder_.path("told")); }
  std::string said() const { return ::caravan::test::contents(folder_.path("said")); }
  void await_told(const std::string& text) const {
    kube::testing::await([&] { return is_over_ || told().find(text) != std::string::npos; });
  }
  void await_said(const std::string& text) const {
    kube::testing::await([&] { return is_over_ || said().find(text) != std::string::npos; });
  }
  int exit_code() {
    thread_.join();
    return code_;
  }

 private:
  const ::caravan::test::TemporaryFolder& folder_;
  std::atomic<bool> is_over_ = false;
  int code_ = -1;
  std::jthread thread_;
};

// Base: a ServiceProgram, which is started already where commands are to find it.
template <typename Base>
class ServiceCommands : public Base {
 protected:
  ServiceCommands() { make_user("ada"); }

  // Whose token is in the file from now on.
  void make_user(const std::string& name) {
    Base::make_account(name, {"get", "list", "watch", "create", "update", "patch", "delete"},
                       {.lists_quotas = true});
    Base::folder_.write("token", Base::full_token(name));
    ada_.emplace(Base::full_token(name));
  }
  // A good one takes its place in the file, then it is nobody's, and a stream of that method has been ended
  // for that when this returns.
  void renew_token(const std::string& method) {
    make_user("heir");
    Base::remove_account("ada");
    const std::string ended = fmt::format(R"(code="UNAUTHENTICATED",method="{}")", method);
    ::caravan::test::await([&] {
      const std::string told =
          http::testing::ask(this->metrics_, "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      return told.find(ended) != std::string::npos;
    });
  }

  Outcome run(const std::string& words, const std::string& environment = "") const {
    return ::caravan::test::run_shell(fmt::format("cd '{}' && {} '{}/caravan' {}", this->folder_.path(""),
                                                  environment, ::caravan::test::program_folder(), words));
  }
  Outcome on_api_server(const std::string& words) const {
    return run(fmt::format("{} -n {}", words, this->server_.name_space()));
  }
  // With nothing of a kubeconfig.
  std::string service_options() const {
    return fmt::format("--server {} --server-name localhost --server-root ca.crt --token-file token -n {}",
                       this->address_, this->server_.name_space());
  }
  static constexpr char kNoKubeconfig[] = "KUBECONFIG=/nowhere HOME=/nowhere";
  Outcome on_service(const std::string& words) const {
    return run(words + " " + service_options(), kNoKubeconfig);
  }

  std::string command_on_service(const std::string& words) const {
    return fmt::format("'{}/caravan' {} {}", ::caravan::test::program_folder(), words, service_options());
  }

  // That of the API server for somebody else: user is JSON.
  void write_kubeconfig(const std::string& user) {
    const kube::ClientConfig config = kube::testing::ServerClient::load(kube::kubeconfig_files(), "");
    Base::folder_.write(
        "config",
        fmt::format(R"({{"apiVersion": "v1", "kind": "Config", "current-context": "c",
 "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u", "namespace": "{}"}}}}],
 "clusters": [{{"name": "c", "cluster": {{"server": "https://{}", "certificate-authority": "{}"}}}}],
 "users": [{{"name": "u", "user": {}}}]}})",
                    this->server_.name_space(), kube::to_string(config.server), config.authority.file, user));
  }
  // By a credential plugin, which is run for each call: its token has expired already, as it says, unless it
  // says nothing of that.
  std::string command_by_plugin(const std::string& words,
                                const std::string& expires = "2020-01-01T00:00:00Z") {
    const std::string login = Base::folder_.write("login", R"sh(#!/bin/sh
cd "$(dirname "$0")" || exit 1
for run in fails-*; do rm "$run" 2>/dev/null && exit 1; done
cat <<end
{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
 "status": {"token": "$(cat token)", "expirationTimestamp": ")sh" +
                                                               expires + R"sh("}}
end
)sh");
    std::filesystem::permissions(login, std::filesystem::perms::owner_all);
    write_kubeconfig(fmt::format(
        R"({{"exec": {{"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never",
 "command": "{}"}}}})",
        login));
    return fmt::format(
        "env KUBECONFIG=config '{}/caravan' {} --server {} --server-name localhost --server-root ca.crt",
        ::caravan::test::program_folder(), words, this->address_);
  }
  // Its next two runs.
  void fail_plugin() {
    for (const char* run : {"fails-1", "fails-2"}) Base::folder_.write(run, "");
  }

  void set_status(const std::string& status) {
    const auto patch = kube::JsonObject{{"status", kube::parse_json(status, "status").value()}};
    const auto answer = this->server_.merge("/train/status", patch);
    EXPECT_TRUE(answer.is_success()) << answer.message();
  }
  kube::Json job_object() {
    return this->server_.client().get({}, this->server_.jobs(), "train").value_or(kube::Json());
  }
  // Until the service shows the job as the API server has it.
  void await_service() {
    const Person ada = this->person(*ada_);
    const std::string version = kube::version_of(job_object());
    kube::testing::await([&] { return this->await_job(ada, "train").etag() == version; });
  }

  std::optional<std::string> ada_;
};

}  // namespace caravan::service::testing
