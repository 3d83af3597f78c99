#include "common/certificates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <memory>
#include <string_view>

#include "common/host_port.h"

namespace caravan {
namespace {

constexpr int kCurve = NID_X9_62_prime256v1;  // of all keys: P-256
constexpr long kBackdatedSeconds = 300;

template <auto* Free>
struct Deleter {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

// What is looked at may be anything: OpenSSL's errors of it are nobody's, and would be taken for those of a
// later call of this thread.
struct ErrorQueue {
  ErrorQueue() = default;
  ErrorQueue(const ErrorQueue&) = delete;
  ErrorQueue& operator=(const ErrorQueue&) = delete;
  ~ErrorQueue() { ERR_clear_error(); }
};

tl::unexpected<Error> openssl_failure(std::string_view step) {
  std::array<char, 256> reason{};
  ERR_error_string_n(ERR_get_error(), reason.data(), reason.size());
  return failure(fmt::format("cannot {}: {}", step, reason.data()));
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

Bio reader_of(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Certificate read_certificate(const std::string& pem) {
  return Certificate(PEM_read_bio_X509(reader_of(pem).get(), nullptr, nullptr, nullptr));
}

Key read_key(const std::string& pem) {
  return Key(PEM_read_bio_PrivateKey(reader_of(pem).get(), nullptr, nullptr, nullptr));
}

Result<KeyPair> print(X509* certificate, EVP_PKEY* key) {
  const Bio certificate_pem(BIO_new(BIO_s_mem()));
  const Bio key_pem(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_pem.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_pem.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failure("write a certificate");
  }
  return KeyPair{.certificate_pem = text_of(certificate_pem.get()), .key_pem = text_of(key_pem.get())};
}

// RFC 5280, section 4.1.2.2: positive and at most 20 octets.
bool set_random_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7F) | 0x40);
  BIGNUM* number = BN_bin2bn(bytes.data(), bytes.size(), nullptr);
  const bool set = BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

bool set_name(X509* certificate, const std::string& common_name, const std::string& organization) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto add = [&](const char* field, const std::string& value) {
    return value.empty() ||
           X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1, 0) == 1;
  };
  return add("O", organization) && add("CN", common_name);
}

Extension make_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  return Extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  if (value.empty()) return true;
  const Extension extension = make_extension(certificate, issuer, kind, value);
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

struct Names {
  std::string common_name;
  std::string organization;
};

// As X509_set_pubkey does, which however encodes and decodes the key by searching all providers: that takes
// as long as all the rest of a certificate.
bool set_public_key(X509* certificate, EVP_PKEY* key) {
  unsigned char* point = nullptr;
  const std::size_t size = EVP_PKEY_get1_encoded_public_key(key, &point);
  const bool set = size > 0 && X509_PUBKEY_set0_param(
                                   X509_get_X509_PUBKEY(certificate), OBJ_nid2obj(NID_X9_62_id_ecPublicKey),
                                   V_ASN1_OBJECT, OBJ_nid2obj(kCurve), point, static_cast<int>(size)) == 1;
  if (!set) OPENSSL_free(point);
  return set;
}

// A certificate with a new key, all but extensions and signature.
Result<std::pair<Certificate, Key>> start(const Names& names, std::chrono::seconds lifetime) {
  Key key(EVP_EC_gen(OBJ_nid2sn(kCurve)));
  Certificate certificate(X509_new());
  if (key == nullptr || certificate == nullptr) return openssl_failure("make a key");
  const bool filled =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 && set_random_serial(certificate.get()) &&
      set_name(certificate.get(), names.common_name, names.organization) &&
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kBackdatedSeconds) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(certificate.get()), lifetime.count()) != nullptr &&
      set_public_key(certificate.get(), key.get());
  if (!filled) return openssl_failure("fill a certificate");
  return std::pair{std::move(certificate), std::move(key)};
}

std::string alternative_names(const CertificateRequest& request) {
  std::vector<std::string> names;
  for (const std::string& name : request.dns_names) names.push_back(fmt::format("DNS:{}", name));
  for (const std::string& address : request.addresses) names.push_back(fmt::format("IP:{}", address));
  for (const std::string& uri : request.uris) names.push_back(fmt::format("URI:{}", uri));
  return fmt::format("{}", fmt::join(names, ","));
}

std::string usages(const CertificateRequest& request) {
  std::vector<std::string> uses;
  if (request.for_server) uses.emplace_back("serverAuth");
  if (request.for_client) uses.emplace_back("clientAuth");
  return fmt::format("{}", fmt::join(uses, ","));
}

bool is_called(X509* certificate, const std::string& common_name) {
  std::array<char, 256> name{};
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                                             static_cast<int>(name.size()));
  return size >= 0 && std::string_view(name.data(), static_cast<std::size_t>(size)) == common_name;
}

bool has_names(X509* certificate, const CertificateRequest& request) {
  if (!is_called(certificate, request.common_name)) return false;
  const std::string names = alternative_names(request);
  X509_EXTENSION* found =
      X509_get_ext(certificate, X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1));
  if (names.empty()) return found == nullptr;
  const Extension wanted = make_extension(certificate, certificate, NID_subject_alt_name, names);
  return wanted != nullptr && found != nullptr &&
         ASN1_OCTET_STRING_cmp(X509_EXTENSION_get_data(found), X509_EXTENSION_get_data(wanted.get())) == 0;
}

// Of a pair that was made before: what both an authority and others have to hold.
Status check_pair(const Certificate& certificate, const KeyPair& pair, X509* issuer,
                  std::chrono::system_clock::time_point until) {
  const Key key = read_key(pair.key_pem);
  std::time_t end = std::chrono::system_clock::to_time_t(until);
  if (key == nullptr || X509_check_private_key(certificate.get(), key.get()) != 1)
    return failure("the key is not that of the certificate");
  if (X509_verify(certificate.get(), X509_get0_pubkey(issuer)) != 1)
    return failure("the certificate is not signed by the authority");
  if (X509_cmp_time(X509_get0_notAfter(certificate.get()), &end) <= 0)
    return failure("the certificate ends soon, or has ended");
  if (X509_cmp_current_time(X509_get0_notBefore(certificate.get())) > 0)
    return failure("the certificate is not valid yet: whoever made it had a clock that was ahead");
  return {};
}

}  // namespace

CertificateRequest server_request(const std::string& common_name, const std::vector<std::string>& names,
                                  std::chrono::seconds lifetime) {
  CertificateRequest request{.common_name = common_name, .lifetime = lifetime};
  for (const std::string& name : names) {
    const bool in_brackets = name.starts_with('[') && name.ends_with(']');
    const std::string bare = in_brackets ? name.substr(1, name.size() - 2) : name;
    (is_ip_address(bare) ? request.addresses : request.dns_names).push_back(bare);
  }
  return request;
}

Result<KeyPair> make_authority(const std::string& common_name, std::chrono::seconds lifetime) {
  auto started = start({.common_name = common_name, .organization = {}}, lifetime);
  if (!started) return tl::unexpected(std::move(started.error()));
  X509* certificate = started->first.get();
  const bool signed_by_itself =
      X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1 &&
      add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE") &&
      add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(certificate, certificate, NID_subject_key_identifier, "hash") &&
      X509_sign(certificate, started->second.get(), EVP_sha256()) > 0;
  if (!signed_by_itself) return openssl_failure("sign an authority");
  return print(certificate, started->second.get());
}

struct Issuer::Parsed {
  Certificate certificate;
  Key key;
};

Issuer::Issuer(std::unique_ptr<Parsed> authority) : authority_(std::move(authority)) {}
Issuer::Issuer(Issuer&&) noexcept = default;
Issuer& Issuer::operator=(Issuer&&) noexcept = default;
Issuer::~Issuer() = default;

Result<Issuer> Issuer::read(const KeyPair& authority) {
  auto parsed = std::make_unique<Parsed>();
  parsed->certificate = read_certificate(authority.certificate_pem);
  parsed->key = read_key(authority.key_pem);
  if (parsed->certificate == nullptr || parsed->key == nullptr) return openssl_failure("read the authority");
  return Issuer(std::move(parsed));
}

Result<KeyPair> Issuer::issue(const CertificateRequest& request) const {
  auto started =
      start({.common_name = request.common_name, .organization = request.organization}, request.lifetime);
  if (!started) return tl::unexpected(std::move(started.error()));
  X509* certificate = started->first.get();
  X509* issuer = authority_->certificate.get();
  const bool issued = X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
                      add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                      add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
                      add_extension(certificate, issuer, NID_ext_key_usage, usages(request)) &&
                      add_extension(certificate, issuer, NID_subject_alt_name, alternative_names(request)) &&
                      add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always") &&
                      X509_sign(certificate, authority_->key.get(), EVP_sha256()) > 0;
  if (!issued) return openssl_failure(fmt::format("issue a certificate for '{}'", request.common_name));
  return print(certificate, started->second.get());
}

Result<KeyPair> issue_certificate(const KeyPair& authority, const CertificateRequest& request) {
  const auto issuer = Issuer::read(authority);
  if (!issuer) return tl::unexpected(issuer.error());
  return issuer->issue(request);
}

Status check_authority(const KeyPair& authority, std::chrono::system_clock::time_point until) {
  const ErrorQueue queue;
  const Certificate certificate = read_certificate(authority.certificate_pem);
  if (certificate == nullptr || X509_check_ca(certificate.get()) != 1)
    return failure("there is no authority");
  return check_pair(certificate, authority, certificate.get(), until);
}

Status check_certificate(const KeyPair& pair, const KeyPair& authority, const CertificateRequest& request,
                         std::chrono::system_clock::time_point until) {
  const ErrorQueue queue;
  const Certificate certificate = read_certificate(pair.certificate_pem);
  const Certificate issuer = read_certificate(authority.certificate_pem);
  if (certificate == nullptr || issuer == nullptr) return failure("there is no certificate");
  if (!has_names(certificate.get(), request)) return failure("the certificate is for other names");
  return check_pair(certificate, pair, issuer.get(), until);
}

}  // namespace caravan
