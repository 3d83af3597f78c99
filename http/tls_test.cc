// The server over TLS, against OpenSSL's own client.
#include "http/tls.h"

#include <gmock/gmock.h>
#include <openssl/ssl.h>

#include "common/certificates.h"
#include "http/server.h"
#include "http/testing/client.h"
#include "http/testing/tls_client.h"

namespace caravan::http {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TlsClient;

constexpr char kWho[] = "POST /who HTTP/1.1\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody";

// What it was sent, and who came.
void answer(const std::shared_ptr<Exchange>& exchange) {
  exchange->reply({.body = exchange->request().body + "," + exchange->request().certificate_pem});
}

class TlsTest : public ::testing::Test {
 protected:
  KeyPair certificate_of(const std::string& name) {
    return issue_certificate(authority_, {.common_name = name, .dns_names = {"localhost"}}).value();
  }
  KeyPair certificate_of_client(const KeyPair& authority) {
    return issue_certificate(authority, {.common_name = "ada", .for_server = false, .for_client = true})
        .value();
  }
  std::shared_ptr<TlsContext> context(const KeyPair& shown, const std::string& client_ca = "") {
    return make_tls_context({shown.certificate_pem, shown.key_pem, client_ca}).value();
  }
  Server serve(std::shared_ptr<TlsContext> tls) {
    return Server::start("127.0.0.1:0", answer, {.body_bytes = 100}, std::move(tls)).value();
  }

  KeyPair authority_ = make_authority("test", std::chrono::hours(1)).value();
};

TEST_F(TlsTest, ARequestWithABodyIsAnswered) {
  const Server server = serve(context(certificate_of("one")));
  TlsClient client(server.address(), {.authority_pem = authority_.certificate_pem});
  client.send(kWho);
  EXPECT_THAT(client.receive(), AllOf(StartsWith("HTTP/1.1 200 OK"), EndsWith("\r\n\r\nbody,")));
}

TEST_F(TlsTest, NothingBelow13IsSpoken) {
  const Server server = serve(context(certificate_of("one")));
  EXPECT_TRUE(TlsClient(server.address(), {authority_.certificate_pem}).is_connected());
  EXPECT_FALSE(
      TlsClient(server.address(), {.authority_pem = authority_.certificate_pem, .highest = TLS1_2_VERSION})
          .is_connected());
}

TEST_F(TlsTest, PlainTextIsNotAnswered) {
  const Server server = serve(context(certificate_of("one")));
  EXPECT_EQ(testing::ask(server.address(), kWho).find("HTTP/"), std::string::npos);
}

TEST_F(TlsTest, AClientIsKnownByACertificateOfTheAuthorityOnly) {
  const Server server = serve(context(certificate_of("one"), authority_.certificate_pem));
  const KeyPair ada = certificate_of_client(authority_);
  const KeyPair forged = certificate_of_client(make_authority("foreign", std::chrono::hours(1)).value());
  TlsClient known(server.address(), {.authority_pem = authority_.certificate_pem, .shown = ada});
  known.send(kWho);
  EXPECT_THAT(known.receive(), EndsWith("body," + ada.certificate_pem));
  TlsClient nobody(server.address(), {.authority_pem = authority_.certificate_pem});
  nobody.send(kWho);
  EXPECT_THAT(nobody.receive(), EndsWith("body,"));
  TlsClient forger(server.address(), {.authority_pem = authority_.certificate_pem, .shown = forged});
  forger.send(kWho);
  EXPECT_EQ(forger.receive(), "");
}

TEST_F(TlsTest, ACertificateThatNobodyAskedForIsNobodys) {
  const Server server = serve(context(certificate_of("one")));
  TlsClient client(server.address(),
                   {.authority_pem = authority_.certificate_pem, .shown = certificate_of_client(authority_)});
  client.send(kWho);
  EXPECT_THAT(client.receive(), EndsWith("body,"));
}

TEST_F(TlsTest, ANewCertificateIsShownFromThenOnAndConnectionsGoOn) {
  Server server = serve(context(certificate_of("one")));
  TlsClient before(server.address(), {authority_.certificate_pem});
  EXPECT_EQ(before.name_of_server(), "one");
  server.renew(context(certificate_of("two")));
  EXPECT_EQ(TlsClient(server.address(), {authority_.certificate_pem}).name_of_server(), "two");
  before.send(kWho);
  EXPECT_THAT(before.receive(), EndsWith("body,"));
}

TEST_F(TlsTest, ARefusalIsReadAlthoughTheBodyIsStillBeingSent) {
  const Server server = serve(context(certificate_of("one")));
  TlsClient client(server.address(), {authority_.certificate_pem});
  client.send("POST / HTTP/1.1\r\nContent-Length: 500000\r\n\r\n" + std::string(100'000, 'x'));
  EXPECT_THAT(client.receive(), HasSubstr("413 Content Too Large"));
}

TEST_F(TlsTest, AServerEndsWhileClientsShakeHands) {
  std::optional<Server> server = serve(context(certificate_of("one")));
  testing::Client silent = testing::connect(server->address());
  TlsClient idle(server->address(), {authority_.certificate_pem});
  server.reset();
  EXPECT_EQ(silent.receive(), "");
}

TEST_F(TlsTest, MaterialThatIsNotUsableIsNamed) {
  const KeyPair good = certificate_of("one");
  const std::pair<TlsMaterial, const char*> cases[] = {
      {{"garbage", good.key_pem}, "the certificate is not usable"},
      {{good.certificate_pem, "garbage"}, "the key is not usable"},
      {{good.certificate_pem, authority_.key_pem}, "the key is not usable"},
      {{good.certificate_pem, good.key_pem, "garbage"}, "the authority of clients is not usable"},
  };
  for (const auto& [material, words] : cases) {
    const auto made = make_tls_context(material);
    ASSERT_FALSE(made) << words;
    EXPECT_THAT(made.error().message, HasSubstr(words));
    EXPECT_EQ(made.error().code, ExitCode::kBadInput);
  }
}

}  // namespace
}  // namespace caravan::http
