#include "service/access/callers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "kube/api/token_review.h"
#include "operator/api/names.h"

namespace caravan::service {
namespace {

using kube::Json;
using kube::JsonArray;

std::vector<std::string> texts_of(const JsonArray& list) {
  std::vector<std::string> texts;
  for (const Json& one : list) {
    if (one.is_string()) texts.emplace_back(one.get_string());
  }
  return texts;
}

tl::unexpected<Fault> bad_token(std::string message) {
  return fault(Code::kUnauthenticated, faults::kBadToken, std::move(message));
}

// Every value of that attribute, in UTF-8.
std::vector<std::string> attributes_of(const X509& certificate, int nid) {
  std::vector<std::string> values;
  const X509_NAME* subject = X509_get_subject_name(&certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, nid, at)) >= 0;) {
    const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    unsigned char* text = nullptr;
    const int length = ASN1_STRING_to_UTF8(&text, value);
    if (length >= 0) values.emplace_back(reinterpret_cast<const char*>(text), length);
    OPENSSL_free(text);
  }
  return values;
}

bool has_control_characters(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20; });
}

}  // namespace

Answer<Caller> caller_of_review(const Json& review, const std::vector<std::string>& audiences) {
  const kube::TokenVerdict verdict = kube::verdict_of(review, audiences);
  if (verdict == kube::TokenVerdict::kNotValid)
    return bad_token(
        fmt::format("the token is not valid here; ask for one with `kubectl create token NAME "
                    "--audience {}`",
                    audiences.front()));
  if (verdict == kube::TokenVerdict::kOfAnotherAudience)
    return bad_token(fmt::format("the token is not for the audience {}", fmt::join(audiences, ", ")));
  Caller caller{.user = kube::text_at(review, {"status", "user", "username"}),
                .uid = kube::text_at(review, {"status", "user", "uid"}),
                .groups = texts_of(kube::array_at(review, {"status", "user", "groups"}))};
  if (caller.user.empty()) return bad_token("the token is of nobody");
  if (const Json* extra = kube::find(review, {"status", "user", "extra"});
      extra != nullptr && extra->is_object()) {
    for (const auto& entry : extra->get_object())
      caller.extra[entry.key()] = texts_of(kube::array_at(entry.value(), {}));
  }
  return caller;
}

Answer<Caller> caller_of_certificate(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      text ? PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr) : nullptr, &X509_free);
  if (!certificate)
    return fault(Code::kUnauthenticated, faults::kNoCredentials, "the certificate cannot be read");
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1)
    return fault(Code::kUnauthenticated, faults::kNoCredentials, "the certificate does not say when it ends");
  const auto names = attributes_of(*certificate, NID_commonName);
  if (names.size() != 1 || names.front().empty())
    return fault(Code::kUnauthenticated, faults::kNoCredentials,
                 "the certificate must have one common name, the user's");
  // The API server adds this group to all whom it has let in.
  Caller caller{.user = names.front(),
                .groups = attributes_of(*certificate, NID_organizationName),
                .certificate_ends = std::chrono::sys_seconds(std::chrono::seconds(timegm(&end)))};
  caller.groups.emplace_back("system:authenticated");
  if (has_control_characters(caller.user) || std::ranges::any_of(caller.groups, has_control_characters))
    return fault(Code::kUnauthenticated, faults::kNoCredentials,
                 "the names of the certificate have control characters");
  return caller;
}

std::optional<Answer<Caller>> Callers::recall(const Credential& credential) const {
  if (credential.token.size() > kLongestToken) return bad_token("the token is too long");
  if (!credential.token.empty()) return recall_token(credential.token);
  if (!credential.certificate_pem.empty()) {
    return caller_of_certificate(credential.certificate_pem).and_then([this](const Caller& caller) {
      return while_certificate_lasts(caller);
    });
  }
  return fault(Code::kUnauthenticated, faults::kNoCredentials,
               "show who you are: a token of Kubernetes, as `authorization: Bearer TOKEN`");
}

std::optional<Answer<Caller>> Callers::recall_token(const std::string& token) const {
  const Digest digest = digest_of(token);
  if (auto known = known_.find(digest)) {
    known->token = token;
    return *std::move(known);
  }
  if (auto refused = refused_.find(digest)) return tl::unexpected(*std::move(refused));
  return std::nullopt;
}

std::optional<std::string> Callers::user_lately(const Credential& credential) const {
  return lately_.find(digest_of(credential.token));
}

Answer<Caller> Callers::identify(const CallContext& context, const Credential& credential) {
  if (auto known = recall(credential)) return *std::move(known);
  return review(context, credential.token);
}

Answer<Caller> Callers::identify_again(const CallContext& context, const Caller& caller) {
  return caller.token.empty() ? while_certificate_lasts(caller) : identify(context, {.token = caller.token});
}

Answer<Caller> Callers::while_certificate_lasts(const Caller& caller) const {
  if (std::chrono::floor<std::chrono::seconds>(clock_.wall_now()) < caller.certificate_ends) return caller;
  return fault(Code::kUnauthenticated, faults::kNoCredentials, "the certificate has expired");
}

Answer<Caller> Callers::review(const CallContext& context, const std::string& token) {
  const auto review =
      client_.create(context, {.resource = controller::kTokenReviews}, kube::token_review(token, audiences_));
  if (!review) {
    Fault own = own_fault_of(review.error());
    own.message = "the token cannot be reviewed: " + own.message;
    return tl::unexpected(std::move(own));
  }
  auto caller = caller_of_review(*review, audiences_);
  if (caller) {
    known_.keep(digest_of(token), *caller);
    lately_.keep(digest_of(token), caller->user);
    caller->token = token;
  } else {
    refused_.keep(digest_of(token), caller.error());
  }
  return caller;
}

}  // namespace caravan::service
