// What the operator that leads keeps of the job service's certificate.
#include "operator/service_certificate.h"

#include <gmock/gmock.h>

#include "kube/config/base64.h"
#include "operator/api/names.h"
#include "operator/testing/model_cluster.h"
#include "operator/testing/settable_clock.h"

namespace caravan::controller::testing {
namespace {

using kube::Json;
using kube::JsonObject;
using std::chrono::hours;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr hours kDay{24};

class ServiceCertificateTest : public ::testing::Test {
 protected:
  // Certificates are valid from the time of the machine on.
  ServiceCertificateTest() { clock_.set(std::chrono::system_clock::now()); }

  // By an operator that knows what the cluster holds and nothing else.
  Status look(const std::vector<std::string>& names = {"caravan-service.team.svc", "192.0.2.7"}) {
    ServiceCertificate keeper(client_, clock_, {.name_space = "team", .names = names});
    return keeper.keep({});
  }
  void keep() {
    const Status kept = look();
    ASSERT_TRUE(kept) << kept.error().message;
  }

  const Json& secret() { return api_.of("secrets").at(kServiceCertificate); }
  std::string root() { return kube::text_at(api_.of("configmaps").at(kServiceRoot), {"data", "ca.crt"}); }
  std::string file(const char* name) {
    return kube::decode_base64(kube::text_at(secret(), {"data", name}), name).value();
  }
  KeyPair pair(const std::string& name) {
    return {.certificate_pem = file((name + ".crt").c_str()), .key_pem = file((name + ".key").c_str())};
  }
  // Of a release of the chart, or of somebody.
  void put_secret(const char* type, JsonObject data = {}) {
    api_.put("secrets", JsonObject{{"metadata", JsonObject{{"name", kServiceCertificate},
                                                           {"labels", JsonObject{{"of", "a release"}}}}},
                                   {"type", type},
                                   {"data", std::move(data)}});
  }
  void spoil(const char* name) {
    JsonObject data = secret().at("data").as_object();
    data.erase(name);
    put_secret(kCertificatesType, std::move(data));
  }

  SettableClock clock_;
  NoCredentials credentials_;
  kube::Observer observer_;
  ModelApi api_;
  kube::Client client_{api_, credentials_, clock_, [] { return 0.0; }, {.retry = {.tries = 1}}, observer_};
};

TEST_F(ServiceCertificateTest, IsMadeForItsNamesWithTheRootThatCallersTrust) {
  keep();
  const CertificateRequest request{.common_name = "caravan-service",
                                   .dns_names = {"caravan-service.team.svc"},
                                   .addresses = {"192.0.2.7"}};
  const Status good = check_certificate(pair("tls"), pair("ca"), request, clock_.wall_now());
  EXPECT_TRUE(good) << good.error().message;
  EXPECT_EQ(root(), file("ca.crt"));
  EXPECT_THAT(root(), ::testing::Not(HasSubstr("PRIVATE KEY")));
  EXPECT_EQ(kube::text_at(secret(), {"type"}), kCertificatesType);
}

TEST_F(ServiceCertificateTest, TheOperatorIsCalledWithOneOfTheSameAuthority) {
  keep();
  const CertificateRequest request{.common_name = "caravan-service"};
  const Status good = check_certificate(pair("client"), pair("ca"), request, clock_.wall_now());
  EXPECT_TRUE(good) << good.error().message;
  const KeyPair before = pair("client");
  clock_.hand().advance(61 * kDay);
  keep();
  EXPECT_NE(pair("client").key_pem, before.key_pem) << "renewed, too";
}

TEST_F(ServiceCertificateTest, WithoutNamesOnlyTheWayToTheOperatorIsKept) {
  ASSERT_TRUE(look({}));
  EXPECT_THAT(file("client.crt"), HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_THAT(file("tls.crt"), IsEmpty());
  EXPECT_THAT(api_.of("configmaps"), IsEmpty());
}

TEST_F(ServiceCertificateTest, WhoeverServesByTheAuthorityIsToldOfItUntilHeHasTakenIt) {
  std::vector<std::string> told;
  bool takes = false;
  ServiceCertificate keeper(
      client_, clock_,
      {.name_space = "team", .names = {"jobs.example"}, .on_authority = [&](const KeyPair& authority) {
         told.push_back(authority.certificate_pem);
         return takes ? Status() : failure("the port is in use");
       }});
  EXPECT_FALSE(keeper.keep({}));
  EXPECT_EQ(root(), file("ca.crt")) << "for callers, whatever becomes of him";
  takes = true;
  EXPECT_TRUE(keeper.keep({}));
  EXPECT_TRUE(keeper.keep({}));
  EXPECT_EQ(told, (std::vector<std::string>{file("ca.crt"), file("ca.crt")}));
  spoil("ca.key");
  EXPECT_TRUE(keeper.keep({}));
  EXPECT_EQ(told.size(), 3u);
  EXPECT_EQ(told.back(), file("ca.crt"));
}

TEST_F(ServiceCertificateTest, FillsWhatTheChartMadeAndLeavesTheRestOfIt) {
  put_secret(kCertificatesType);
  keep();
  EXPECT_THAT(file("tls.crt"), HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_EQ(kube::text_at(secret(), {"metadata", "labels", "of"}), "a release");
}

TEST_F(ServiceCertificateTest, StaysAsLongAsItIsGood) {
  keep();
  const Json before = secret();
  const Json root_before = api_.of("configmaps").at(kServiceRoot);
  clock_.hand().advance(59 * kDay);
  keep();
  EXPECT_EQ(secret(), before);
  EXPECT_EQ(api_.of("configmaps").at(kServiceRoot), root_before);
}

TEST_F(ServiceCertificateTest, IsRenewedAMonthBeforeItsEndByTheAuthorityThatCallersTrust) {
  keep();
  const KeyPair before = pair("tls");
  const std::string root_before = root();
  clock_.hand().advance(61 * kDay);
  keep();
  EXPECT_NE(pair("tls").key_pem, before.key_pem);
  EXPECT_EQ(root(), root_before);
}

TEST_F(ServiceCertificateTest, IsOfANewAuthorityAYearBeforeTheOldOneEnds) {
  keep();
  const std::string before = root();
  clock_.hand().advance(9 * 365 * kDay + kDay);
  keep();
  EXPECT_NE(root(), before);
  EXPECT_EQ(root(), file("ca.crt"));
}

TEST_F(ServiceCertificateTest, IsMadeAnewForOtherNames) {
  keep();
  const std::string before = file("tls.crt");
  ASSERT_TRUE(look({"jobs.example"}));
  EXPECT_NE(file("tls.crt"), before);
  const CertificateRequest request{.common_name = "caravan-service", .dns_names = {"jobs.example"}};
  EXPECT_TRUE(check_certificate(pair("tls"), pair("ca"), request, clock_.wall_now()));
}

TEST_F(ServiceCertificateTest, WhatIsMissingOrSpoiltIsMadeAnew) {
  for (const char* name : {"tls.crt", "tls.key", "client.crt", "client.key"}) {
    keep();
    const std::string root_before = root();
    spoil(name);
    keep();
    EXPECT_THAT(file(name), HasSubstr("BEGIN")) << name;
    EXPECT_EQ(root(), root_before) << name;
  }
  for (const char* name : {"ca.crt", "ca.key"}) {
    const std::string root_before = root();
    spoil(name);
    keep();
    EXPECT_NE(root(), root_before) << name;
    EXPECT_EQ(root(), file("ca.crt")) << name;
  }
  api_.of("configmaps").clear();
  keep();
  EXPECT_EQ(root(), file("ca.crt"));
}

TEST_F(ServiceCertificateTest, OfAnotherTypeIsSomebodyElses) {
  put_secret("kubernetes.io/tls");
  const Json before = secret();
  const Status kept = look();
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("Secret team/caravan-service-certificate is not of the type"));
  EXPECT_THAT(kept.error().message, HasSubstr("service.certificate.secretName"));
  EXPECT_EQ(secret(), before);
  EXPECT_THAT(api_.of("configmaps"), IsEmpty());
}

TEST_F(ServiceCertificateTest, IsLookedAtAgainAndAgain) {
  ServiceCertificate keeper(client_, clock_, {.name_space = "team", .names = {"a"}});
  keeper.start();
  clock_.hand().await_sleeper(std::chrono::minutes(1));
  spoil("tls.key");
  clock_.hand().advance(std::chrono::minutes(1));
  clock_.hand().await_sleeper(std::chrono::minutes(1));
  EXPECT_THAT(file("tls.key"), HasSubstr("BEGIN"));
  // A failure is not waited out for as long.
  put_secret("kubernetes.io/tls");
  clock_.hand().advance(std::chrono::minutes(1));
  clock_.hand().await_sleeper(std::chrono::seconds(10));
  keeper.stop();
}

}  // namespace
}  // namespace caravan::controller::testing
