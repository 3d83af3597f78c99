#include "kube/config/config_credentials.h"

#include <gtest/gtest.h>

#include <filesystem>

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

  test::TemporaryFolder folder_;
  caravan::testing::ManualClock clock_;
};

TEST_F(ConfigCredentialsTest, ARotatedTokenIsInUseWithinAMinute) {
  write("token", "first\n");
  ConfigCredentials credentials({.token_file = path("token")}, clock_);
  EXPECT_EQ(credentials.token().value(), "first");
  write("token", "second\n");
  EXPECT_EQ(credentials.token().value(), "first") << "not read for each call";
  clock_.advance(50s);
  EXPECT_EQ(credentials.token().value(), "second");
}

TEST_F(ConfigCredentialsTest, TheLastTokenStaysWhenTheFileCannotBeRead) {
  write("token", "first");
  ConfigCredentials credentials({.token_file = path("token")}, clock_);
  EXPECT_EQ(credentials.token().value(), "first");
  fs::remove(path("token"));
  clock_.advance(50s);
  EXPECT_EQ(credentials.token().value(), "first");
  write("token", "");
  clock_.advance(50s);
  EXPECT_EQ(credentials.token().value(), "first");
}

TEST_F(ConfigCredentialsTest, AfterARefusalTheFileIsReadAtOnce) {
  write("token", "first");
  ConfigCredentials credentials({.token_file = path("token")}, clock_);
  EXPECT_EQ(credentials.token().value(), "first");
  write("token", "second");
  credentials.forget();
  EXPECT_EQ(credentials.token().value(), "second");
}

TEST_F(ConfigCredentialsTest, ATokenThatNeverWasIsAnErrorThatNamesTheFile) {
  ConfigCredentials credentials({.token_file = path("token")}, clock_);
  const auto token = credentials.token();
  ASSERT_FALSE(token);
  EXPECT_NE(token.error().message.find(path("token")), std::string::npos);
}

TEST_F(ConfigCredentialsTest, ARotatedAuthorityIsReadAgain) {
  write("ca.crt", "old");
  ConfigCredentials credentials({.authority = {.file = path("ca.crt")}}, clock_);
  EXPECT_EQ(credentials.tls().value().authority_pem, "old");
  write("ca.crt", "new");
  clock_.advance(50s);
  EXPECT_EQ(credentials.tls().value().authority_pem, "new");
}

TEST_F(ConfigCredentialsTest, APluginRunsAgainWhenItsTokenExpires) {
  write("count", "");
  const std::string program = fs::absolute(path("login")).string();
  // The token of each run lives for the first minute of ManualClock.
  write(
      "login",
      "#!/bin/sh\nprintf x >> " + path("count") +
          R"(; printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s","expirationTimestamp":"2023-11-14T22:14:20Z"}}' )" +
          "$(cat " + path("count") + ")\n");
  fs::permissions(program, fs::perms::owner_all);
  ConfigCredentials credentials({.exec = ExecPlugin{.command = program}}, clock_);
  EXPECT_EQ(credentials.token().value(), "x");
  EXPECT_EQ(credentials.token().value(), "x");
  clock_.advance(60s);
  EXPECT_EQ(credentials.token().value(), "xx");
}

}  // namespace
}  // namespace caravan::kube
