// Whether a certificate that was made before can still be used.
#include "common/certificates.h"

#include <gmock/gmock.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

namespace caravan {
namespace {

using std::chrono::hours;
using std::chrono::system_clock;
using ::testing::HasSubstr;

const CertificateRequest kRequest{.common_name = "server",
                                  .dns_names = {"server", "server.example"},
                                  .addresses = {"192.0.2.1", "2001:db8::1"},
                                  .lifetime = hours(10)};

class Certificates : public ::testing::Test {
 protected:
  // What is wrong with the pair an hour before it ends; empty: nothing.
  std::string complaint(const KeyPair& pair, const CertificateRequest& request = kRequest,
                        hours until = hours(9)) {
    const Status checked = check_certificate(pair, authority_, request, system_clock::now() + until);
    return checked ? "" : checked.error().message;
  }

  const KeyPair authority_ = make_authority("authority", hours(20)).value();
  const KeyPair pair_ = issue_certificate(authority_, kRequest).value();
};

TEST_F(Certificates, AreGoodForWhatTheyWereIssuedFor) {
  EXPECT_EQ(complaint(pair_), "");
  EXPECT_TRUE(check_authority(authority_, system_clock::now() + hours(19)));
}

TEST_F(Certificates, AreNotGoodBeyondTheirEnd) {
  EXPECT_THAT(complaint(pair_, kRequest, hours(11)), HasSubstr("ends soon"));
  EXPECT_FALSE(check_authority(authority_, system_clock::now() + hours(21)));
}

// Whoever made one by a clock that was ahead is the only one who takes it.
TEST_F(Certificates, AreNotGoodBeforeTheirStart) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> pem(BIO_new_mem_buf(authority_.certificate_pem.data(), -1),
                                                      BIO_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> key_pem(BIO_new_mem_buf(authority_.key_pem.data(), -1),
                                                          BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr), X509_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(key_pem.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 3600);
  ASSERT_GT(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
  const std::unique_ptr<BIO, decltype(&BIO_free)> written(BIO_new(BIO_s_mem()), BIO_free);
  ASSERT_EQ(PEM_write_bio_X509(written.get(), certificate.get()), 1);
  char* text = nullptr;
  const long length = BIO_get_mem_data(written.get(), &text);
  const KeyPair early{.certificate_pem = std::string(text, static_cast<std::size_t>(length)),
                      .key_pem = authority_.key_pem};
  const Status checked = check_authority(early, system_clock::now() + hours(19));
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("is not valid yet"));
}

TEST_F(Certificates, AreNotGoodForMoreFewerOrOtherNames) {
  CertificateRequest more = kRequest, fewer = kRequest, other = kRequest, called = kRequest;
  called.common_name = "another";
  more.dns_names.emplace_back("another.example");
  fewer.addresses.pop_back();
  other.dns_names[0] = "another";
  for (const CertificateRequest& request : {more, fewer, other, called})
    EXPECT_THAT(complaint(pair_, request), HasSubstr("other names"));
}

TEST_F(Certificates, OfAClientHaveNoNames) {
  const CertificateRequest client{.common_name = "client", .for_server = false, .for_client = true};
  const KeyPair pair = issue_certificate(authority_, client).value();
  EXPECT_EQ(complaint(pair, client), "");
  EXPECT_THAT(complaint(pair_, client), HasSubstr("other names"));
}

TEST_F(Certificates, OfAServerAreForNamesAndAddresses) {
  const auto request =
      server_request("x", {"a.example", "192.0.2.1", "2001:db8::7", "[2001:db8::8]"}, hours(1));
  EXPECT_THAT(request.dns_names, ::testing::ElementsAre("a.example"));
  EXPECT_THAT(request.addresses, ::testing::ElementsAre("192.0.2.1", "2001:db8::7", "2001:db8::8"));
  EXPECT_TRUE(issue_certificate(authority_, request));
}

TEST_F(Certificates, AreNotGoodWithAnotherKeyOrFromAnotherAuthority) {
  const KeyPair other = make_authority("authority", hours(20)).value();
  const KeyPair others = issue_certificate(other, kRequest).value();
  EXPECT_THAT(complaint({.certificate_pem = pair_.certificate_pem, .key_pem = others.key_pem}),
              HasSubstr("not that of the certificate"));
  EXPECT_THAT(complaint(others), HasSubstr("not signed by the authority"));
  const KeyPair mixed{.certificate_pem = authority_.certificate_pem, .key_pem = other.key_pem};
  EXPECT_FALSE(check_authority(mixed, system_clock::now()));
}

TEST_F(Certificates, OfASubjectAreNoAuthority) {
  EXPECT_FALSE(check_authority(pair_, system_clock::now()));
}

TEST_F(Certificates, ThatAreNoneAreToldAndLeaveNoErrorBehind) {
  EXPECT_THAT(complaint({}), HasSubstr("there is no certificate"));
  EXPECT_THAT(complaint({.certificate_pem = pair_.certificate_pem, .key_pem = "no key"}),
              HasSubstr("the key"));
  EXPECT_FALSE(check_authority({.certificate_pem = "none", .key_pem = "none"}, system_clock::now()));
  // Which would be told as the reason of the next failure.
  const auto refused = issue_certificate(authority_, {.common_name = "x", .addresses = {"no address"}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::Not(HasSubstr("no start line")));
}

}  // namespace
}  // namespace caravan
