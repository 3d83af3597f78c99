// The client while its API server is killed and comes back.

#include <gtest/gtest.h>

#include "common/process.h"
#include "common/testing/checkout.h"
#include "kube/watch/informer.h"
#include "tests/kube/server_client.h"

namespace caravan::kube::testing {
namespace {

// A server of this test's own.
class RestartedServer : public ::testing::Test {
 protected:
  RestartedServer() { run("up"); }
  ~RestartedServer() override { run("down"); }

  static void run(const std::string& verb) {
    // The servers outlive the script.
    auto script = Process::spawn(
        {.program = test::source_folder() + "/tests/cluster/api.sh", .arguments = {verb, API_FOLDER}});
    ASSERT_TRUE(script) << script.error().message;
    ASSERT_EQ(script->wait(), ExitStatus{.exit_code = 0}) << "api.sh " << verb;
  }
};

TEST_F(RestartedServer, IsFollowedAsIfNothingHadHappened) {
  ServerClient server({API_FOLDER "/kubeconfig"});
  const std::string name_space = server.make_namespace();
  const ResourcePath config_maps{.resource = kConfigMaps, .name_space = name_space};
  ASSERT_TRUE(server.client.create({}, config_maps, config_map(name_space, "before", "1")));
  Informer informer(server.client, server.clock, system_random(), server.observer, {.path = config_maps},
                    [](const Change&) {});
  informer.start();
  ASSERT_TRUE(informer.wait_until_synced({}));

  run("restart");
  const auto created = server.client.create({}, config_maps, config_map(name_space, "after", "1"));
  ASSERT_TRUE(created) << created.error().message;
  await([&] { return informer.store().get({name_space, "after"}) != nullptr; });
  EXPECT_NE(informer.store().get({name_space, "before"}), nullptr);

  // The new server has no memory of the old one's events.
  auto stream = server.client.watch({}, config_maps, {.resource_version = "1"});
  ASSERT_TRUE(stream) << stream.error().message;
  const auto event = stream->next({});
  ASSERT_TRUE(event && event->has_value());
  EXPECT_EQ(text_at(**event, {"type"}), "ERROR");
  EXPECT_EQ(integer_at(**event, {"object", "code"}), 410);
}

}  // namespace
}  // namespace caravan::kube::testing
