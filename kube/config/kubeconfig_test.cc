#include "kube/config/kubeconfig.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "common/process.h"
#include "common/testing/await.h"
#include "common/testing/temporary_folder.h"
#include "kube/config/exec_plugin.h"
#include "kube/config/in_cluster.h"

namespace caravan::kube {
namespace {

namespace fs = std::filesystem;

class Kubeconfig : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) {
    return folder_.write(name, content);
  }
  std::string write_with_user(const std::string& user, const std::string& cluster = "") {
    return write("config",
                 R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"k","user":"u"}}],
      "clusters":[{"name":"k","cluster":{"server":"https://api.example:6443")" +
                     cluster + R"(}}],
      "users":[{"name":"u","user":)" +
                     user + "}]}");
  }
  static Result<ClientConfig> load(const std::vector<std::string>& files, const std::string& context = "") {
    return load_kubeconfig(files, context, read_json_document);
  }
  // A plugin that does this and prints that token, as the shell has it, then.
  ExecPlugin plugin(const std::string& script, const std::string& token) {
    const std::string program = write("login", "#!/bin/sh\n" + script + R"(
cat <<end
{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":")" +
                                                   token + "\"}}\nend\n");
    fs::permissions(program, fs::perms::owner_all);
    return {.command = program};
  }

  test::TemporaryFolder folder_;
};

TEST_F(Kubeconfig, DataWinsOverFilesAndPathsAreRelativeToTheFile) {
  const auto config = load({write_with_user(
      R"({"client-certificate-data":"Y2VydA==","client-certificate":"ignored","client-key":"pki/key.pem"})",
      R"(,"certificate-authority":"ca.crt","tls-server-name":"kubernetes","future-key":1)")});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, (Endpoint{"api.example", "6443"}));
  EXPECT_EQ(config->certificate.text, "cert");
  EXPECT_EQ(config->key.file, folder_.path("pki/key.pem"));
  EXPECT_EQ(config->authority.file, folder_.path("ca.crt"));
  EXPECT_EQ(config->tls_server_name, "kubernetes");
  EXPECT_EQ(config->name_space, "default");
}

TEST_F(Kubeconfig, TheFirstFileToSaySomethingWins) {
  const std::string first = write("one/config", R"({"current-context":"c",
    "contexts":[{"name":"c","context":{"cluster":"k","user":"u","namespace":"team"}}]})");
  const std::string second = write("two/config", R"({"current-context":"other","clusters":
    [{"name":"k","cluster":{"server":"https://[::1]/prefix/"}}],"users":[{"name":"u","user":{"tokenFile":"token"}}]})");
  const auto config = load({first, folder_.path("absent"), second});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, (Endpoint{"::1", "443"}));
  EXPECT_EQ(config->base_path, "/prefix");
  EXPECT_EQ(config->token_file, folder_.path("two/token"));
  EXPECT_EQ(config->name_space, "team");
}

TEST_F(Kubeconfig, AFileThatCannotBeReadIsNotPassedOver) {
  const auto config = load({folder_.path().string(), write_with_user("{}")});
  ASSERT_FALSE(config) << "of another cluster";
  EXPECT_EQ(config.error().message, "cannot read " + folder_.path().string() + ": Is a directory");
}

TEST_F(Kubeconfig, AUserMayHaveATokenAndAFileThatWinsOverIt) {
  const auto config = load({write_with_user(R"({"token":"constant","tokenFile":"token"})")});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->token, "constant");
  EXPECT_EQ(config->token_file, folder_.path("token"));
}

TEST_F(Kubeconfig, AUserThatIsNullIsNobody) {
  const auto config = load({write_with_user("null")});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->token.empty());
}

TEST_F(Kubeconfig, RefusesWhatItDoesNotSupportByName) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"auth-provider":{"name":"oidc"}})", "auth-provider"},
      {R"({"username":"joe","password":"x"})", "username"},
      {R"({"exec":{"apiVersion":"client.authentication.k8s.io/v1alpha1","command":"x"}})", "v1alpha1"},
      {R"({"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"x","interactiveMode":"Always"}})",
       "the exec plugin 'x' cannot support interactive mode: standard input is unavailable"},
      {R"({"client-key-data":"not base64!"})", "client-key-data"},
  };
  for (const auto& [user, named] : cases) {
    const auto config = load({write_with_user(user)});
    ASSERT_FALSE(config) << user;
    EXPECT_NE(config.error().message.find(named), std::string::npos) << config.error().message;
    EXPECT_EQ(config.error().code, ExitCode::kBadInput);
  }
}

TEST_F(Kubeconfig, TakesHttpProxiesAndRefusesOthers) {
  const auto config = load({write_with_user("{}", R"(,"proxy-url":"http://proxy.example:3128")")});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->proxy, (Endpoint{"proxy.example", "3128"}));
  EXPECT_FALSE(load({write_with_user("{}", R"(,"proxy-url":"socks5://proxy.example")")}));
}

TEST_F(Kubeconfig, ThePasswordInAUrlIsRefusedAndNotRepeated) {
  const auto proxy = load({write_with_user("{}", R"(,"proxy-url":"http://joe:secret@proxy.example:3128")")});
  ASSERT_FALSE(proxy);
  EXPECT_EQ(proxy.error().message,
            folder_.path("config") +
                ": proxy-url: user and password in a URL are not supported: write http://host:port");
  for (const char* server :
       {"https://joe:secret@api.example", "joe:secret@api.example:6443", "https://joe:se/cret@h"})
    EXPECT_EQ(parse_url(server).error().message,
              "user and password in a URL are not supported: write https://host:port");
}

TEST_F(Kubeconfig, WarnsOfAServerThatIsNotVerified) {
  EXPECT_TRUE(load({write_with_user("{}")})->warnings.empty());
  const auto config = load({write_with_user("{}", R"(,"insecure-skip-tls-verify":true)")});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->insecure_skip_tls_verify);
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_NE(config->warnings[0].find("insecure-skip-tls-verify"), std::string::npos);
}

TEST_F(Kubeconfig, SaysWhatIsMissing) {
  EXPECT_NE(load({"/nowhere/config"}).error().message.find("/nowhere/config"), std::string::npos);
  const std::string file = write_with_user("{}");
  EXPECT_NE(load({file}, "prod").error().message.find("no context named 'prod'"), std::string::npos);
  EXPECT_NE(load({write("empty", "{}")}).error().message.find("current-context"), std::string::npos);
}

TEST_F(Kubeconfig, AnExecCommandWithASlashIsRelativeToTheFile) {
  const auto config = load({write_with_user(
      R"({"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"./login","args":["-x"],"env":[{"name":"A","value":"b"}]}})")});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->exec->command, folder_.path("login"));
  EXPECT_EQ(config->exec->arguments, std::vector<std::string>{"-x"});
  EXPECT_EQ(config->exec->environment.front(), (std::pair<std::string, std::string>{"A", "b"}));
}

TEST_F(Kubeconfig, AnExecPluginRunsWithItsEnvironmentAndIsToldAboutTheCluster) {
  SystemClock clock;
  const std::string script = write("login", R"sh(#!/bin/sh
cluster=$(printf %s "$KUBERNETES_EXEC_INFO" | grep -o '"server":"[^"]*"\|"certificate-authority-data":"[^"]*"' | cut -d'"' -f4 | tr '\n' ' ')
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"%s-%s","expirationTimestamp":"2030-01-01T00:00:00Z"}}' "$A" "$cluster"
)sh");
  fs::permissions(script, fs::perms::owner_all);
  const ExecPlugin plugin{.command = script,
                          .api_version = "client.authentication.k8s.io/v1beta1",
                          .environment = {{"A", "b"}},
                          .provide_cluster_info = true};
  const auto credential =
      run_exec_plugin({}, clock, plugin, {.server = {"api.example", "6443"}}, "authority");
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->token, "b-https://api.example:6443 YXV0aG9yaXR5 ");
  EXPECT_TRUE(credential->expires);
}

TEST_F(Kubeconfig, AnExecPluginThatFailsOrIsAbsentSaysSo) {
  SystemClock clock;
  const auto failed = run_exec_plugin({}, clock, {.command = "/bin/false"}, {}, "");
  EXPECT_NE(failed.error().message.find("exit code 1"), std::string::npos) << failed.error().message;
  const auto absent =
      run_exec_plugin({}, clock, {.command = "no-such-login", .install_hint = "install it"}, {}, "");
  EXPECT_NE(absent.error().message.find("install it"), std::string::npos) << absent.error().message;
}

TEST_F(Kubeconfig, WhatAPluginPrintsMustBeOfItsVersionAndHoldSomething) {
  const auto parse = [](const std::string& version, const std::string& status) {
    return parse_exec_credential(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/)" +
                                     version + R"(","status":)" + status + "}",
                                 {.command = "login"});
  };
  EXPECT_TRUE(parse("v1", R"({"token":"t"})"));
  EXPECT_TRUE(parse("v1", R"({"clientCertificateData":"c","clientKeyData":"k"})"));
  EXPECT_FALSE(parse("v1beta1", R"({"token":"t"})"));
  EXPECT_FALSE(parse("v1", "{}"));
}

TEST_F(Kubeconfig, AStopEndsAnExecPluginThatHangs) {
  SystemClock clock;
  std::stop_source stop;
  stop.request_stop();
  const auto stopped =
      run_exec_plugin({.stop = stop.get_token()}, clock, {.command = "sleep", .arguments = {"600"}}, {}, "");
  EXPECT_FALSE(stopped);
}

TEST_F(Kubeconfig, AnExecPluginHasNoTerminalAndDoesNotReadWhatItsCallerReads) {
  SystemClock clock;
  auto jobs = make_pipe();
  ASSERT_TRUE(jobs);
  ASSERT_EQ(::write(jobs->write_end.get(), "job", 3), 3);
  jobs->write_end.reset();
  const UniqueFd before(::dup(STDIN_FILENO));
  ::dup2(jobs->read_end.get(), STDIN_FILENO);
  const auto credential = run_exec_plugin(
      {}, clock, plugin("session=$(cut -d' ' -f6 /proc/$$/stat)", "$(cat) $((session == $$))"), {}, "");
  ::dup2(before.get(), STDIN_FILENO);
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->token, " 1");
}

TEST_F(Kubeconfig, WhatAnExecPluginLeavesBehindGoesOnAndIsNotWaitedFor) {
  SystemClock clock;
  const std::string rest = "(while [ ! -e " + folder_.path("go") + " ]; do sleep 0.01; done; touch " +
                           folder_.path("gone-on") + ") &";
  const auto credential = run_exec_plugin({}, clock, plugin(rest, "t"), {}, "");
  ASSERT_TRUE(credential) << credential.error().message;
  EXPECT_EQ(credential->token, "t");
  write("go", "");
  test::await([&] { return fs::exists(folder_.path("gone-on")); });
}

TEST_F(Kubeconfig, AnExecPluginThatClosesItsOutputAndStaysIsEndedAtTheDeadline) {
  SystemClock clock;
  const auto credential = run_exec_plugin({.deadline = clock.now() + std::chrono::milliseconds(100)}, clock,
                                          plugin("exec >&-; exec sleep 600", "t"), {}, "");
  ASSERT_FALSE(credential);
  EXPECT_NE(credential.error().message.find("printed no credentials in time"), std::string::npos)
      << credential.error().message;
}

TEST_F(Kubeconfig, InAPodTheEnvironmentAndTheServiceAccountSayAll) {
  write("sa/namespace", "team\n");
  for (const char* name : {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"})
    ::unsetenv(name);  // of a pod that runs the test
  EXPECT_FALSE(in_cluster_config(folder_.path("sa"))) << "not in a pod";
  ::setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  ::setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  const auto config = in_cluster_config(folder_.path("sa"));
  const auto unmounted = in_cluster_config(folder_.path("absent"));
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  ::unsetenv("KUBERNETES_SERVICE_PORT");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(to_string(config->server), "[fd00::1]:443");
  EXPECT_EQ(config->name_space, "team");
  EXPECT_EQ(config->token_file, folder_.path("sa/token"));
  EXPECT_FALSE(unmounted);
}

TEST(Url, HasAHostAndAPortOrSaysWhatIsWrong) {
  EXPECT_EQ(parse_url("https://h").value().endpoint, (Endpoint{"h", "443"}));
  EXPECT_EQ(parse_url("http://h:1/p/").value().path, "/p");
  for (const char* bad : {"", "h:1", "https://", "https://h:x", "https://user@h"})
    EXPECT_FALSE(parse_url(bad)) << bad;
}

}  // namespace
}  // namespace caravan::kube
