// The children of a job against golden files, and the certificates with OpenSSL.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <boost/json/serialize.hpp>
#include <fstream>
#include <sstream>

#include "common/testing/checkout.h"
#include "operator/children/certificates.h"
#include "operator/children/job_objects.h"
#include "operator/children/plan_object.h"
#include "operator/children/pod_resources.h"
#include "operator/children/worker_pod.h"
#include "operator/controller/planning_policy.h"
#include "operator/testing/jobs.h"
#include "operator/testing/pretty_json.h"

namespace caravan::controller::testing {
namespace {

// CARAVAN_WRITE_GOLDEN=1 writes the files anew.
void expect_golden(const std::string& name, const kube::Json& object) {
  const std::string path = test::source_folder() + "/operator/children/testdata/" + name;
  const std::string text = pretty(object) + "\n";
  if (std::getenv("CARAVAN_WRITE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

v1alpha1::JobPlan plan_of(const Job& job) {
  const PlanVerdict verdict = judge_plan(job, {});
  EXPECT_TRUE(verdict.plan) << verdict.message;
  return verdict.plan.value_or(v1alpha1::JobPlan());
}

TEST(Children, AreAsTheGoldenFilesShow) {
  const Job plain = job();
  expect_golden("service.json", service_intent(plain));
  expect_golden("service_account.json", account_intent(plain));
  expect_golden("network_policy.json", network_policy_intent(plain, settings()));
  expect_golden("plan.json", plan_intent(plain, "{}", settings()));
  expect_golden(
      "pod_0.json",
      pod_intent(plain, plan_of(plain),
                 {.node = 0, .attempt = 3, .restarts = 2, .short_attempts = 1, .certificates = kCertificates},
                 settings()));
  Job rich = job(R"(, "worker": {"image": "registry.example/own:2", "imagePullPolicy": "Always",
      "env": [{"name": "MY_FLAG", "value": "1"}],
      "resources": {"cpu": "4", "memory": "16Gi"}, "nodeSelector": {"pool": "train"},
      "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
      "priorityClassName": "high", "serviceAccountName": "mine", "sharedMemory": "2Gi", "scratch": "50Gi"},
      "scheduling": {"topology": {"mode": "Required", "key": "rack"}})");
  v1alpha1::EnvironmentVariable& forged =
      *rich.spec.mutable_worker()->add_env();  // from before it was refused
  forged.set_name("CARAVAN_JOB_UID");
  forged.set_value("forged");
  expect_golden(
      "pod_1_rich.json",
      pod_intent(rich, plan_of(rich),
                 {.node = 1, .certificates = kCertificates, .product_label = "NVIDIA-H100-80GB-HBM3"},
                 settings()));
}

TEST(Children, ThePlatformIsAskedForNoUserWhereItAssignsThem) {
  Settings assigned = settings();
  assigned.platform_assigns_users = true;
  const kube::Json pod = pod_intent(job(), plan_of(job()), {.node = 0}, assigned);
  const kube::JsonObject expected{{"runAsNonRoot", true},
                                  {"seccompProfile", kube::JsonObject{{"type", "RuntimeDefault"}}}};
  EXPECT_EQ(*kube::find(pod, {"spec", "securityContext"}), kube::Json(expected));
}

TEST(Children, EveryAgentBearsSilenceForAsLongAsTheOperatorWasTold) {
  Settings patient = settings();
  patient.agent_patience = std::chrono::seconds(90);
  for (const int node : {0, 1}) {
    const kube::Json pod = pod_intent(job(), plan_of(job()), {.node = node}, patient);
    const auto& containers = kube::find(pod, {"spec", "containers"})->as_array();
    EXPECT_THAT(containers[0].at("args").as_array(),
                ::testing::Contains(kube::Json("--patience-milliseconds=90000")));
  }
}

TEST(Children, PodsGoToTheProductOfThePlanUnlessTheJobSelectsAnother) {
  const auto selected = [](const Job& job) {
    const PodRequest request{.product_label = "NVIDIA-H100-80GB-HBM3"};
    return kube::text_at(pod_intent(job, plan_of(job), request, settings()),
                         {"spec", "nodeSelector", labels::kGpuProduct});
  };
  EXPECT_EQ(selected(job()), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(selected(job(R"(, "worker": {"nodeSelector": {"nvidia.com/gpu.product": "mine"}})")), "mine");
}

// The pod's volumes of claims, with where they are mounted.
std::vector<std::string> claims_of(const Job& job) {
  const kube::Json pod = pod_intent(job, plan_of(job), {.node = 1}, settings());
  std::vector<std::string> claims;
  for (const kube::Json& volume : kube::find(pod, {"spec", "volumes"})->as_array()) {
    if (kube::find(volume, {"persistentVolumeClaim"}) == nullptr) continue;
    const std::string name = kube::text_at(volume, {"name"});
    std::string line =
        fmt::format("{}: {}", name, kube::text_at(volume, {"persistentVolumeClaim", "claimName"}));
    if (kube::find(volume, {"persistentVolumeClaim", "readOnly"})->as_bool()) line += " read only";
    const auto& container = kube::find(pod, {"spec", "containers"})->as_array()[0];
    for (const kube::Json& mount : container.at("volumeMounts").as_array()) {
      if (kube::text_at(mount, {"name"}) != name) continue;
      line += fmt::format(", {}{}", kube::text_at(mount, {"mountPath"}),
                          mount.at("readOnly").as_bool() ? " read only" : "");
    }
    claims.push_back(line);
  }
  return claims;
}

Job job_with_claims(const char* weights, const char* checkpoints) {
  Job result = job();
  result.spec.mutable_model()->mutable_init_from()->set_claim_name(weights);
  result.spec.mutable_model()->mutable_init_from()->set_path("llama");
  result.spec.mutable_checkpoint()->set_claim_name(checkpoints);
  result.spec.mutable_checkpoint()->set_path("run");
  return result;
}

TEST(Children, APodMountsTheClaimsOfItsJob) {
  EXPECT_THAT(claims_of(job_with_claims("models", "states")),
              ::testing::ElementsAre("data: corpus read only, /data read only",
                                     "weights: models read only, /weights read only",
                                     "checkpoints: states, /checkpoints"));
}

TEST(Children, AClaimThatIsNamedTwiceIsOneVolume) {
  EXPECT_THAT(claims_of(job_with_claims("corpus", "corpus")),
              ::testing::ElementsAre("data: corpus, /data read only, /weights read only, /checkpoints"));
  EXPECT_THAT(claims_of(job_with_claims("corpus", "states")),
              ::testing::ElementsAre("data: corpus read only, /data read only, /weights read only",
                                     "checkpoints: states, /checkpoints"));
  EXPECT_THAT(claims_of(job_with_claims("states", "states")),
              ::testing::ElementsAre("data: corpus read only, /data read only",
                                     "weights: states, /weights read only, /checkpoints"));
}

TEST(Children, PodsAvoidMachinesByNameBesideTheTopologyThatTheyAskFor) {
  const Job racked = job(R"(, "scheduling": {"topology": {"mode": "Required", "key": "rack"}})");
  const PodRequest request{.avoided_machines = {"bad", "worse"}};
  const kube::Json pod = pod_intent(racked, plan_of(racked), request, settings());
  const auto avoids = [](const char* machine) {
    return kube::Json(kube::JsonObject{
        {"key", "metadata.name"}, {"operator", "NotIn"}, {"values", kube::JsonArray{machine}}});
  };
  const kube::Json expected = kube::JsonArray{kube::JsonObject{
      {"weight", 100},
      {"preference", kube::JsonObject{{"matchFields", kube::JsonArray{avoids("bad"), avoids("worse")}}}}}};
  const kube::Json* preferred = kube::find(
      pod, {"spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"});
  ASSERT_NE(preferred, nullptr);
  EXPECT_EQ(*preferred, expected);
  EXPECT_NE(kube::find(pod, {"spec", "affinity", "podAffinity"}), nullptr);
  EXPECT_EQ(kube::find(pod_intent(job(), plan_of(job()), {}, settings()), {"spec", "affinity"}), nullptr);
}

TEST(PlanObject, TheFingerprintIsOfTheContentThatIsOurs) {
  const kube::Json intent = plan_intent(job(), "{}", settings());
  const std::string written = fingerprint_of(intent);
  EXPECT_EQ(kube::text_at(intent, {"metadata", "annotations", annotations::kContent}), written);
  kube::Json changed = intent;
  changed.as_object()["data"].as_object()["notes"] = "of a user";
  changed.as_object()["metadata"].as_object()["resourceVersion"] = "7";
  EXPECT_EQ(fingerprint_of(changed), written);
  changed.as_object()["data"].as_object()[kPlanKey] = "{} ";
  EXPECT_NE(fingerprint_of(changed), written);
  EXPECT_NE(fingerprint_of(plan_intent(job(), "other", settings())), written);
}

TEST(PlanObject, TrimmedItHasItsOwnerAndFingerprintsAndNoContent) {
  kube::Json intent = plan_intent(job(), std::string(100'000, '1'), settings());
  intent.as_object()["metadata"].as_object()["annotations"].as_object()["long"] = std::string(100'000, 'a');
  const kube::Json trimmed = trim_plan_object(intent);
  EXPECT_EQ(fingerprint_of(trimmed), fingerprint_of(intent));
  EXPECT_EQ(trim_plan_object(trimmed), trimmed);
  EXPECT_EQ(kube::controller_uid_of(trimmed), job().uid);
  EXPECT_EQ(kube::key_of(trimmed), kube::key_of(intent));
  EXPECT_EQ(kube::text_at(trimmed, {"metadata", "annotations", annotations::kContent}),
            fingerprint_of(intent));
  EXPECT_LT(boost::json::serialize(trimmed).size(), 1500U);
}

TEST(Children, ThreadsOfARankComeFromTheJobAlone) {
  EXPECT_EQ(threads_per_rank(job().spec, 2), 1);
  EXPECT_EQ(threads_per_rank(job(R"(, "worker": {"resources": {"cpu": "8"}})").spec, 2), 4);
  EXPECT_EQ(threads_per_rank(job(R"(, "worker": {"resources": {"cpu": "500m"}})").spec, 2), 1);
}

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Certificate read_certificate(const kube::Json& secret, const std::string& key) {
  const std::string pem = kube::text_at(secret, {"stringData", key});
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free_all);
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free};
}

bool is_signed_for(X509* certificate, X509* authority, int purpose) {
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(), &X509_STORE_free);
  X509_STORE_add_cert(store.get(), authority);
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(X509_STORE_CTX_new(),
                                                                                &X509_STORE_CTX_free);
  X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  return X509_verify_cert(context.get()) == 1;
}

// The URI and DNS names that a certificate bears.
std::vector<std::string> names_of(X509* certificate) {
  std::vector<std::string> found;
  auto* all =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const ASN1_IA5STRING* name = sk_GENERAL_NAME_value(all, i)->d.ia5;  // of both kinds
    found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name)));
  }
  GENERAL_NAMES_free(all);
  return found;
}

TEST(Certificates, NameTheirJobAndNodeAndOnlyThatOfTheCoordinatorMayServe) {
  const auto set = new_certificate_set(job());
  ASSERT_TRUE(set);
  const auto secret = certificates_intent(job(), *set, 0, 2);
  ASSERT_TRUE(secret);
  const Certificate authority = read_certificate(*secret, "ca.crt");
  const Certificate first = read_certificate(*secret, "0.crt");
  const Certificate second = read_certificate(*secret, "1.crt");
  EXPECT_THAT(names_of(first.get()), ::testing::UnorderedElementsAre(
                                         "train-0.train.team.svc", "caravan://job/" + job().uid + "/node/0"));
  EXPECT_THAT(names_of(second.get()), ::testing::ElementsAre("caravan://job/" + job().uid + "/node/1"));
  EXPECT_TRUE(is_signed_for(first.get(), authority.get(), X509_PURPOSE_SSL_SERVER));
  EXPECT_TRUE(is_signed_for(first.get(), authority.get(), X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(is_signed_for(second.get(), authority.get(), X509_PURPOSE_SSL_SERVER));
  EXPECT_TRUE(is_signed_for(second.get(), authority.get(), X509_PURPOSE_SSL_CLIENT));
}

TEST(Certificates, OfOneSetHaveAnAuthorityThatNoOtherHas) {
  const auto set = new_certificate_set(job());
  const auto other = new_certificate_set(job());
  ASSERT_TRUE(set && other);
  EXPECT_NE(set->name, other->name);
  const auto secret = certificates_intent(job(), *set, 1, 100);
  const Certificate authority = read_certificate(certificates_intent(job(), *set, 0, 100).value(), "ca.crt");
  const Certificate foreign = read_certificate(certificates_intent(job(), *other, 0, 100).value(), "ca.crt");
  const Certificate last = read_certificate(*secret, "99.crt");
  EXPECT_TRUE(is_signed_for(last.get(), authority.get(), X509_PURPOSE_SSL_CLIENT));
  EXPECT_FALSE(is_signed_for(last.get(), foreign.get(), X509_PURPOSE_SSL_CLIENT));
}

// An object may have 1 MiB.
TEST(Certificates, OfTheLargestJobFitIntoSecretsInWhichEachPodFindsItsOwn) {
  constexpr int kNodes = 16384;
  const auto set = new_certificate_set(job());
  ASSERT_TRUE(set);
  const int last = secrets_of(kNodes) - 1;
  const auto secret = certificates_intent(job(), *set, last, kNodes);
  ASSERT_TRUE(secret);
  EXPECT_LT(pretty(*secret).size(), 200'000U);
  const kube::Json volume = certificate_volume(job(), set->name, kNodes - 1);
  EXPECT_EQ(kube::text_at(volume, {"secretName"}), kube::text_at(*secret, {"metadata", "name"}));
  std::vector<std::string> files;
  for (const kube::Json& item : volume.at("items").get_array()) {
    EXPECT_NE(kube::text_at(*secret, {"stringData", kube::text_at(item, {"key"})}), "");
    files.push_back(kube::text_at(item, {"path"}));
  }
  EXPECT_THAT(files, ::testing::ElementsAre("ca.crt", "tls.crt", "tls.key")) << "its own alone";
  EXPECT_EQ(secrets_of(1), 1);
  EXPECT_EQ(secrets_of(64), 1);
  EXPECT_EQ(secrets_of(65), 2);
}

}  // namespace
}  // namespace caravan::controller::testing
