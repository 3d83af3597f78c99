// The way of the command line to the job service: what is taken from where, and what is said where it does
// not lead there.
#include <algorithm>

#include "operator/api/names.h"
#include "tests/service/service_commands.h"

namespace caravan::service::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kUnreachable = 4;

class ServiceAccessTest : public ServiceCommands<ServiceProgram> {
 protected:
  ServiceAccessTest() { start(); }

  // Of `list`; instead: of the options that lead to the service.
  Outcome list(const std::string& options, const std::string& environment = "") const {
    return run(fmt::format("list -o name -n {} {}", server_.name_space(), options),
               fmt::format("{} {}", kNoKubeconfig, environment));
  }
  std::string server(const std::string& name = "localhost", const std::string& root = "ca.crt") const {
    return fmt::format("--server {} --server-name {} --server-root {}", address_, name, root);
  }
};

void expect_one_line(const Outcome& outcome, int code) {
  EXPECT_EQ(outcome.exit_code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
}

TEST_F(ServiceAccessTest, EnvironmentAndOptionsSayWhereTheServiceIs) {
  create_job("train");
  await_service();
  const Outcome by_environment =
      list("", fmt::format("CARAVAN_SERVER={} CARAVAN_SERVER_NAME=localhost CARAVAN_ROOT_FILE=ca.crt "
                           "CARAVAN_TOKEN=$(cat token)",
                           address_));
  EXPECT_EQ(by_environment.out, "train\n") << by_environment.err;
  EXPECT_EQ(list(server() + " --token-file token").out, "train\n");
  const Outcome completed = run("__jobs get " + service_options(), kNoKubeconfig);
  EXPECT_EQ(completed.out, "train\n");
}

TEST_F(ServiceAccessTest, AnotherAuthorityOrNameIsSaidToBeWrong) {
  folder_.write("other.crt", make_authority("other", std::chrono::hours(1)).value().certificate_pem);
  const Outcome authority = list(server("localhost", "other.crt") + " --token-file token");
  expect_one_line(authority, kUnreachable);
  EXPECT_THAT(authority.err, AllOf(HasSubstr(address_), HasSubstr("--server-root")));
  const Outcome name = list(server("mars") + " --token-file token");
  expect_one_line(name, kUnreachable);
  EXPECT_THAT(name.err, AllOf(HasSubstr(address_), HasSubstr("--server-name")));
  folder_.write("empty.crt", "");
  const Outcome empty = list(server("localhost", "empty.crt") + " --token-file token");
  expect_one_line(empty, 2);
  EXPECT_THAT(empty.err, HasSubstr("--server-root: empty.crt has no certificate in PEM"));
}

TEST_F(ServiceAccessTest, WithoutAGoodTokenItSaysHowToGetOne) {
  const Outcome none = list(server());
  expect_one_line(none, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("no token for the job service"), HasSubstr("kubectl create token")));
  const Outcome missing = list(server() + " --token-file nowhere");
  expect_one_line(missing, 2);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("--token-file:"), HasSubstr("nowhere")));
  folder_.write("two-lines", "one\ntwo\n");
  expect_one_line(list(server() + " --token-file two-lines"), 2);
  remove_account("ada");  // as a token whose time is over: nobody's
  const Outcome expired = list(server() + " --token-file token");
  expect_one_line(expired, kUnreachable);
  EXPECT_THAT(expired.err, AllOf(HasSubstr("does not know who you are"), HasSubstr("kubectl create token")));
  expect_one_line(list(server(), "CARAVAN_TOKEN=garbage"), kUnreachable);
}

TEST_F(ServiceAccessTest, ATokenOfAnotherAudienceReadsAndDoesNotWrite) {
  create_job("train");
  await_service();
  folder_.write("reader", token("ada", {"caravan"}));
  EXPECT_EQ(list(server() + " --token-file reader").out, "train\n");
  const Outcome written =
      run(fmt::format("suspend train -n {} {} --token-file reader", server_.name_space(), server()));
  expect_one_line(written, kUnreachable);
  EXPECT_THAT(written.err, HasSubstr("kubectl create token"));
}

TEST_F(ServiceAccessTest, WhoeverHasNoRightIsToldWhichOne) {
  make_account("stranger", {});
  folder_.write("stranger", full_token("stranger"));
  const Outcome refused = list(server() + " --token-file stranger");
  expect_one_line(refused, 1);
  EXPECT_THAT(refused.err,
              HasSubstr("the right to list llamatrainingjobs.training.caravan.dev in namespace"));
  const Outcome everywhere = list("-A " + server() + " --token-file token");
  expect_one_line(everywhere, 1);
  EXPECT_THAT(everywhere.err,
              HasSubstr("the right to list llamatrainingjobs.training.caravan.dev in the cluster"));
}

// Each command makes more calls than one a second.
TEST_F(ServiceAccessTest, AServiceThatIsBusyIsWaitedForAsItTells) {
  die();
  address_.clear();
  folder_.write("log", "");
  start({"--requests-per-second", "1", "--burst", "1"});
  create_job("train");
  await_service();
  for (const char* words : {"suspend train", "resume train", "cancel train"}) {
    const Outcome done = on_service(words);
    EXPECT_EQ(done.exit_code, 0) << words << ": " << done.err;
  }
}

TEST_F(ServiceAccessTest, AServiceThatIsBusyForLongerThanAWaitMayTakeEndsIt) {
  die();
  address_.clear();
  folder_.write("log", "");
  start({"--requests-per-second", "0.1", "--burst", "1"});
  create_job("train");
  ASSERT_EQ(on_service("list").exit_code, 0);  // which is all that is let in for ten seconds
  const Outcome waited = on_service("wait train --timeout 1s");
  EXPECT_EQ(waited.exit_code, 1) << waited.err;
  EXPECT_THAT(waited.err, HasSubstr("may make 0.1 requests a second"));
}

TEST_F(ServiceAccessTest, AServiceThatIsAwayIsSaidToBe) {
  die();
  const Outcome away = list(server() + " --token-file token");
  expect_one_line(away, kUnreachable);
  EXPECT_THAT(away.err,
              AllOf(HasSubstr("the job service " + address_ + " is not reached"), HasSubstr("--server")));
  for (const char* nonsense : {"localhost", "https://localhost:443"}) {
    const Outcome refused = list(fmt::format("--server {} --token-file token", nonsense));
    expect_one_line(refused, 2);
    EXPECT_THAT(refused.err, HasSubstr(fmt::format("--server: expected HOST:PORT, got {}", nonsense)));
  }
}

TEST_F(ServiceAccessTest, TheKubeconfigGivesTokenAndNamespace) {
  create_job("train");
  await_service();
  write_kubeconfig(fmt::format(R"({{"token": "{}"}})", *ada_));
  const Outcome listed = run("list -o name " + server(), "KUBECONFIG=config");
  EXPECT_EQ(listed.out, "train\n") << listed.err;
  const Outcome by_certificate = run("list -o name " + server());
  expect_one_line(by_certificate, 2);
  EXPECT_THAT(by_certificate.err, HasSubstr("the kubeconfig's user has none"));
}

// Of the namespace of Caravan alone: in others, its users write ConfigMaps.
TEST_F(ServiceAccessTest, TheRootIsFetchedWithTheKubeconfig) {
  create_job("train");
  await_service();
  const std::string words =
      fmt::format("list -o name --server {} --server-name localhost --token-file token -n {}", address_,
                  server_.name_space());
  const auto map = [](const std::string& root) {
    return kube::JsonObject{{"apiVersion", "v1"},
                            {"kind", "ConfigMap"},
                            {"metadata", kube::JsonObject{{"name", controller::kServiceRoot}}},
                            {"data", kube::JsonObject{{controller::kServiceRootKey, root}}}};
  };
  kube::ResourcePath maps{.resource = controller::kConfigMaps, .name_space = server_.name_space()};
  ASSERT_TRUE(server_.client().create({}, maps, map(authority_.certificate_pem)));
  const Outcome none = run(words);
  expect_one_line(none, 2);
  EXPECT_THAT(none.err,
              AllOf(HasSubstr("--server-root"), HasSubstr("namespace caravan-system has no ConfigMap")));

  maps.name_space = "caravan-system";
  static_cast<void>(
      server_.client().create({}, {.resource = kube::testing::kNamespaces},
                              kube::JsonObject{{"apiVersion", "v1"},
                                               {"kind", "Namespace"},
                                               {"metadata", kube::JsonObject{{"name", maps.name_space}}}}));
  ASSERT_TRUE(server_.client().create({}, maps, map(authority_.certificate_pem)));
  const Outcome listed = run(words);
  ASSERT_TRUE(server_.client().remove({}, maps, controller::kServiceRoot, {}));
  EXPECT_EQ(listed.out, "train\n") << listed.err;
}

}  // namespace
}  // namespace caravan::service::testing
