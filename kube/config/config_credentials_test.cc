#include "kube/config/config_credentials.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "common/certificates.h"
#include "common/json.h"
#include "common/testing/await.h"
#include "common/testing/manual_clock.h"
#include "common/testing/temporary_folder.h"

namespace caravan::kube {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class ConfigCredentialsTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  void write(const std::string& name, const std::string& content) const { folder_.write(name, content); }
  // A plugin that does this and prints a token then, which lives for the first minute of ManualClock.
  ClientConfig with_plugin(const std::string& script, const std::string& token = "t") const {
    write("login", "#!/bin/sh\n" + script +
                       R"(
cat <<end
{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
 "status":{"token":")" +
                       token +
                       R"(","expirationTimestamp":"2023-11-14T22:14:20Z"}}
end
)");
    fs::permissions(path("login"), fs::perms::owner_all);
    return {.exec = ExecPlugin{.command = path("login")}};
  }

  test::TemporaryFolder folder_;
  caravan::testing::ManualClock clock_;
};

TEST_F(ConfigCredentialsTest, ARotatedTokenIsInUseWithinAMinute) {
  write("token", "first\n");
  ConfigCredentials credentials({.token_file = path("token")}, clock_);
  EXPECT_EQ(credentials.token({}).value(), "first");
  write("token", "second\n");
  EXPECT_EQ(credentials.token({}).value(), "first") << "not read for each call";
  clock_.advance(50s);
  EXPECT_EQ(credentials.token({}).value(), "second");
}

TEST_F(ConfigCredentialsTest, TheLastTokenStaysWhenTheFileCannotBeRead) {
  write("token", "first");
  ConfigCredentials credentials({.token_file = path("token")}, clock_);
  EXPECT_EQ(credentials.token({}).value(), "first");
  fs::remove(path("token"));
  clock_.advance(50s);
  EXPECT_EQ(credentials.token({}).value(), "first");
  write("token", "");
  clock_.advance(50s);
  EXPECT_EQ(credentials.token({}).value(), "first");
}

TEST_F(ConfigCredentialsTest, AfterARefusalTheFileIsReadAtOnce) {
  write("token", "first");
  ConfigCredentials credentials({.token_file = path("token")}, clock_);
  EXPECT_EQ(credentials.token({}).value(), "first");
  write("token", "second");
  credentials.forget("first");
  EXPECT_EQ(credentials.token({}).value(), "second");
}

TEST_F(ConfigCredentialsTest, ATokenThatNeverWasIsAnErrorThatNamesTheFile) {
  ConfigCredentials credentials({.token_file = path("token")}, clock_);
  const auto token = credentials.token({});
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().message.find(path("token")), std::string::npos);
}

TEST_F(ConfigCredentialsTest, ARotatedAuthorityIsReadAgain) {
  write("ca.crt", "old");
  ConfigCredentials credentials({.authority = {.file = path("ca.crt")}}, clock_);
  EXPECT_EQ(credentials.tls({}).value().authority_pem, "old");
  write("ca.crt", "new");
  clock_.advance(50s);
  EXPECT_EQ(credentials.tls({}).value().authority_pem, "new");
}

TEST_F(ConfigCredentialsTest, APluginRunsAgainWhenItsTokenExpires) {
  ConfigCredentials credentials(with_plugin("printf x >> " + path("count"), "$(cat " + path("count") + ")"),
                                clock_);
  EXPECT_EQ(credentials.token({}).value(), "x");
  EXPECT_EQ(credentials.token({}).value(), "x");
  clock_.advance(60s);
  EXPECT_EQ(credentials.token({}).value(), "xx");
}

TEST_F(ConfigCredentialsTest, ALoginThatCameAfterTheRefusedOneStays) {
  ConfigCredentials credentials(with_plugin("printf x >> " + path("count"), "$(cat " + path("count") + ")"),
                                clock_);
  const std::string refused = credentials.token({}).value();
  credentials.forget(refused);
  EXPECT_EQ(credentials.token({}).value(), "xx");
  credentials.forget(refused);  // by a call that began before the new login
  EXPECT_EQ(credentials.token({}).value(), "xx");
}

TEST_F(ConfigCredentialsTest, ACertificateOfAPluginGoesWithATokenOfAnotherSource) {
  const KeyPair pair = make_authority("plugin", kAuthorityLifetime).value();
  ClientConfig config =
      with_plugin("printf x >> " + path("count"),
                  fmt::format(R"(","clientCertificateData":{},"clientKeyData":{},"more":")",
                              json_string(pair.certificate_pem), json_string(pair.key_pem)));
  config.token = "constant";
  ConfigCredentials credentials(config, clock_);
  for (const std::size_t runs : {1U, 1U, 2U}) {
    if (runs == 2) credentials.forget(credentials.token({}).value());
    EXPECT_EQ(credentials.tls({}).value().certificate_pem, pair.certificate_pem);
    EXPECT_EQ(fs::file_size(path("count")), runs);
  }
}

TEST_F(ConfigCredentialsTest, APluginThatFailsRestsTwiceAsLongEachTime) {
  ConfigCredentials credentials(with_plugin("printf x >> " + path("count") + "; exit 1"), clock_);
  const auto runs = [&] { return fs::file_size(path("count")); };
  const std::string told = credentials.token({}).error().message;
  auto ran = runs();
  for (const auto rest : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    clock_.advance(rest - 1ms);
    credentials.forget("t");
    for (const ApiError& error : {credentials.token({}).error(), credentials.tls({}).error()}) {
      EXPECT_EQ(error.kind, ErrorKind::kNoCredentials);
      EXPECT_EQ(error.message, told);
    }
    EXPECT_EQ(runs(), ran) << rest.count();
    clock_.advance(1ms);
    EXPECT_FALSE(credentials.token({}));
    EXPECT_EQ(runs(), ++ran) << rest.count();
  }
}

TEST_F(ConfigCredentialsTest, APluginThatWorksAgainHasFailedForTheFirstTimeTheNextTime) {
  ConfigCredentials credentials(with_plugin("[ -e " + path("works") + " ] || exit 1"), clock_);
  EXPECT_FALSE(credentials.token({}));
  clock_.advance(1s);
  EXPECT_FALSE(credentials.token({}));
  write("works", "");
  clock_.advance(2s);
  EXPECT_EQ(credentials.token({}).value(), "t");
  fs::remove(path("works"));
  credentials.forget("t");
  EXPECT_EQ(credentials.token({}).error().kind, ErrorKind::kNoCredentials);
  write("works", "");
  clock_.advance(1s);
  EXPECT_EQ(credentials.token({}).value(), "t");
}

TEST_F(ConfigCredentialsTest, APluginAndWhoWaitsForOneGoByTheDeadlineAndTheStopOfTheirCall) {
  ConfigCredentials credentials(with_plugin("touch " + path("runs") + "; sleep 600"), clock_);
  std::stop_source stop;
  auto runs = std::async(std::launch::async, [&] { return credentials.token({.stop = stop.get_token()}); });
  test::await([&] { return fs::exists(path("runs")); });
  EXPECT_EQ(credentials.tls({.deadline = clock_.now()}).error().kind, ErrorKind::kTimeout);
  stop.request_stop();
  EXPECT_EQ(runs.get().error().kind, ErrorKind::kStopped);
  EXPECT_EQ(credentials.token({.deadline = clock_.now()}).error().kind, ErrorKind::kTimeout);
  fs::remove(path("runs"));
  const CallContext later{.deadline = clock_.now() + 9s};
  auto again = std::async(std::launch::async, [&] { return credentials.token(later); });
  test::await([&] { return fs::exists(path("runs")); });
  clock_.advance(9s);
  EXPECT_EQ(again.get().error().kind, ErrorKind::kTimeout);
}

TEST_F(ConfigCredentialsTest, ATokenIsOneLineWhereverItComesFrom) {
  EXPECT_EQ(ConfigCredentials({.token = "secret\n"}, clock_).token({}).value(), "secret");
  write("token", "two\nlines\n");
  const std::vector<std::pair<ClientConfig, std::string>> cases{
      {ClientConfig{.token = "two\nlines"}, "'token' of the kubeconfig's user"},
      {ClientConfig{.token_file = path("token")}, path("token")},
      {with_plugin("", R"(two\nlines)"), path("login")},
  };
  for (const auto& [config, named] : cases) {
    const auto token = ConfigCredentials(config, clock_).token({});
    ASSERT_FALSE(token) << named;
    EXPECT_EQ(token.error().kind, ErrorKind::kNoCredentials);
    EXPECT_NE(token.error().message.find(named), std::string::npos) << token.error().message;
  }
}

TEST_F(ConfigCredentialsTest, APluginWhoseCredentialIsOfNoUseHasFailed) {
  for (const char* given : {R"(two\nlines)", R"(t","clientCertificateData":"c","clientKeyData":"k)"}) {
    write("count", "");
    ConfigCredentials credentials(with_plugin("printf x >> " + path("count"), given), clock_);
    const auto token = credentials.token({});
    ASSERT_FALSE(token) << given;
    EXPECT_EQ(token.error().kind, ErrorKind::kNoCredentials);
    EXPECT_NE(token.error().message.find(path("login")), std::string::npos) << token.error().message;
    EXPECT_FALSE(credentials.tls({})) << given;
    EXPECT_EQ(fs::file_size(path("count")), 1U) << given;
    clock_.advance(1s);
    EXPECT_FALSE(credentials.token({})) << given;
    EXPECT_EQ(fs::file_size(path("count")), 2U) << given;
  }
}

TEST_F(ConfigCredentialsTest, AFileWinsOverATokenOnceItCanBeRead) {
  ConfigCredentials credentials({.token = "constant", .token_file = path("token")}, clock_);
  EXPECT_EQ(credentials.token({}).value(), "constant");
  write("token", "rotated");
  EXPECT_EQ(credentials.token({}).value(), "rotated");
}

}  // namespace
}  // namespace caravan::kube
