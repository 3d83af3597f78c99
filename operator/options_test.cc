// What the operator's flags accept, and how they refuse.
#include "operator/options.h"

#include <gmock/gmock.h>

namespace caravan::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ParsedOptions parse(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "caravan-operator");
  return parse_options(static_cast<int>(flags.size()), flags.data());
}

TEST(Options, AreTheUsualOnesOfControllersUnlessSaidOtherwise) {
  const ParsedOptions parsed = parse({"--worker-image", "w:1"});
  const auto& options = std::get<OperatorOptions>(parsed);
  EXPECT_EQ(options.lease_duration, std::chrono::seconds(15));
  EXPECT_EQ(options.renew_deadline, std::chrono::seconds(10));
  EXPECT_EQ(options.retry_period, std::chrono::seconds(2));
  EXPECT_EQ(options.cache_sync, std::chrono::minutes(2));
  EXPECT_TRUE(options.read_nodes);
  EXPECT_EQ(options.name_space, "");
  EXPECT_EQ(options.agent_patience, std::chrono::seconds(20));
}

TEST(Options, APlatformMayBearSilenceLonger) {
  const ParsedOptions parsed = parse({"--worker-image", "w:1", "--agent-patience-seconds", "90"});
  EXPECT_EQ(std::get<OperatorOptions>(parsed).agent_patience, std::chrono::seconds(90));
}

TEST(Options, WhatPodsOnGpusGetByDefaultIsThePlatforms) {
  const ParsedOptions usual = parse({"--worker-image", "w:1"});
  EXPECT_EQ(std::get<OperatorOptions>(usual).cores_per_gpu, 8);
  EXPECT_FALSE(std::get<OperatorOptions>(usual).allow_host_network);
  const ParsedOptions parsed =
      parse({"--worker-image", "w:1", "--cores-per-gpu", "3", "--allow-host-network"});
  EXPECT_EQ(std::get<OperatorOptions>(parsed).cores_per_gpu, 3);
  EXPECT_TRUE(std::get<OperatorOptions>(parsed).allow_host_network);
}

TEST(Options, WorkersOnGpusMayHaveAnImageOfTheirOwn) {
  const ParsedOptions one = parse({"--worker-image", "w:1"});
  EXPECT_EQ(settings_of(std::get<OperatorOptions>(one)).worker_image_cuda, "");
  const ParsedOptions two = parse({"--worker-image", "w:1", "--worker-image-cuda", "c:1"});
  EXPECT_EQ(settings_of(std::get<OperatorOptions>(two)).worker_image, "w:1");
  EXPECT_EQ(settings_of(std::get<OperatorOptions>(two)).worker_image_cuda, "c:1");
}

TEST(Options, NameServersThatAreGivenReplaceTheUsualOnes) {
  const ParsedOptions usual = parse({"--worker-image", "w:1"});
  EXPECT_EQ(std::get<OperatorOptions>(usual).name_servers.size(), 3U);
  const ParsedOptions parsed = parse(
      {"--worker-image", "w:1", "--dns", "10.0.0.10/32", "--dns", "names/a.b/c=d", "--dns", "fd00::10/128"});
  const auto& given = std::get<OperatorOptions>(parsed).name_servers;
  ASSERT_EQ(given.size(), 3U);
  EXPECT_EQ(given[0].addresses, "10.0.0.10/32");
  EXPECT_EQ(given[0].name_space, "");
  EXPECT_EQ(given[1].name_space, "names");
  EXPECT_EQ(given[1].label, "a.b/c");
  EXPECT_EQ(given[1].value, "d");
  EXPECT_EQ(given[2].addresses, "fd00::10/128");
}

TEST(Options, NamesOfTheJobServiceAreSaidTogether) {
  EXPECT_TRUE(std::get<OperatorOptions>(parse({"--worker-image", "w:1"})).service_names.empty());
  const ParsedOptions parsed =
      parse({"--worker-image", "w:1", "--service-names=caravan-service.team.svc,192.0.2.7,2001:db8::7"});
  EXPECT_THAT(std::get<OperatorOptions>(parsed).service_names,
              ElementsAre("caravan-service.team.svc", "192.0.2.7", "2001:db8::7"));
}

TEST(Options, ACheckNeedsNothingOfWhatAnOperatorDoes) {
  const ParsedOptions parsed = parse({"check", "--namespace", "team", "--seconds", "5"});
  const auto& options = std::get<CheckOptions>(parsed);
  EXPECT_FALSE(options.has_service);
  EXPECT_TRUE(std::get<CheckOptions>(parse({"check", "--service"})).has_service);
  EXPECT_EQ(options.name_space, "team");
  EXPECT_EQ(options.patience, std::chrono::seconds(5));
}

TEST(Options, BadOnesNameTheirFlagAndEndWithTwo) {
  struct Case {
    std::vector<const char*> flags;
    const char* named;
  };
  const Case cases[] = {
      {{}, "--worker-image"},
      {{"--worker-image", "w", "--workers", "0"}, "--workers"},
      {{"--worker-image", "w", "--probes", "8081"}, "--probes"},
      {{"--worker-image", "w", "--metrics", "8080"}, "--metrics"},
      {{"--worker-image", "w", "--reports-address", "host"}, "--reports-address"},
      {{"--worker-image", "w", "--log-level", "loud"}, "--log-level"},
      {{"--worker-image", "w", "--dns", "10.0.0.10"}, "--dns"},
      {{"--worker-image", "w", "--cores-per-gpu", "-1"}, "--cores-per-gpu"},
      {{"--worker-image", "w", "--dns", "10.0.0.10/33"}, "--dns"},
      {{"--worker-image", "w", "--dns", "10.0.0.10/"}, "--dns"},
      {{"--worker-image", "w", "--dns", "10.0.0.10/-1"}, "--dns"},
      {{"--worker-image", "w", "--dns", "10.0.0.10/32x"}, "--dns"},
      {{"--worker-image", "w", "--dns", "fd00::10/129"}, "--dns"},
      {{"--worker-image", "w", "--dns", "foo/32"}, "--dns"},
      {{"--worker-image", "w", "--dns", "kube-system/=kube-dns"}, "--dns"},
      {{"--worker-image", "w", "--dns", "kube-system/k8s-app="}, "--dns"},
      {{"--worker-image", "w", "--dns", "Kube-System/k8s-app=kube-dns"}, "--dns"},
      {{"--worker-image", "w", "--agent-patience-seconds", "1"}, "--agent-patience-seconds"},
      {{"--worker-image", "w", "--service-names", "a,b,DNS:c"}, "--service-names"},
      {{"--worker-image", "w", "--service-names", "a:b"}, "--service-names"},
      {{"--worker-image", "w", "--lease-seconds", "-3"}, "--lease-seconds"},
      {{"--worker-image", "w", "--lease-seconds", "10"}, "--renew-seconds"},
      {{"--worker-image", "w", "--retry-seconds", "9"}, "--retry-seconds"},
      {{"check", "--seconds", "-1"}, "--seconds"},
      {{"check", "--worker-image", "w"}, "--worker-image"},
      {{"--worker-image", "w", "--no-such-flag"}, "--no-such-flag"}};
  for (const Case& c : cases) {
    ::testing::internal::CaptureStderr();
    const ParsedOptions parsed = parse(c.flags);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(c.named));
    ASSERT_TRUE(std::holds_alternative<ExitCode>(parsed)) << c.named;
    EXPECT_EQ(std::get<ExitCode>(parsed), ExitCode::kBadInput);
  }
}

}  // namespace
}  // namespace caravan::controller
