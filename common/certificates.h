// Makes a certificate authority and certificates signed by it, and says whether one that was made before can
// still be used: for mutual TLS inside one job, for the job service, and for tests.
//
// Keys are P-256. Validity starts five minutes in the past, for peers whose clocks are behind. Errors of what
// is made carry OpenSSL's reason, those of what is looked at say what is wrong with it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"

namespace caravan {

// Ten years: of authorities that nobody renews, and of what has to be good as long.
inline constexpr std::chrono::hours kAuthorityLifetime{24 * 365 * 10};

struct KeyPair {
  std::string certificate_pem;
  std::string key_pem;  // PKCS #8
};

struct CertificateRequest {
  std::string common_name;
  std::string organization = {};            // what Kubernetes takes for the group
  std::vector<std::string> dns_names = {};  // what a client may call the server
  std::vector<std::string> addresses = {};  // the same for IP addresses
  std::vector<std::string> uris = {};       // whom it stands for
  bool for_server = true;
  bool for_client = false;
  std::chrono::seconds lifetime{std::chrono::hours(24)};
};

// Of a server that is called by these: DNS names or IP addresses, of IPv6 in brackets or not.
CertificateRequest server_request(const std::string& common_name, const std::vector<std::string>& names,
                                  std::chrono::seconds lifetime);

Result<KeyPair> make_authority(const std::string& common_name, std::chrono::seconds lifetime);

// Signs for an authority. Reading its key takes longer than the rest of a certificate, so whoever issues many
// keeps one of these.
class Issuer {
 public:
  static Result<Issuer> read(const KeyPair& authority);
  Issuer(Issuer&&) noexcept;
  Issuer& operator=(Issuer&&) noexcept;
  ~Issuer();

  Result<KeyPair> issue(const CertificateRequest& request) const;

 private:
  struct Parsed;
  explicit Issuer(std::unique_ptr<Parsed> authority);

  std::unique_ptr<Parsed> authority_;
};

// A single one.
Result<KeyPair> issue_certificate(const KeyPair& authority, const CertificateRequest& request);

// An error says why it may not sign, or not until then.
Status check_authority(const KeyPair& authority, std::chrono::system_clock::time_point until);
// An error says why the pair is not what the authority would answer to the request: another key, other names,
// not signed by it, or not valid until then.
Status check_certificate(const KeyPair& pair, const KeyPair& authority, const CertificateRequest& request,
                         std::chrono::system_clock::time_point until);

}  // namespace caravan
