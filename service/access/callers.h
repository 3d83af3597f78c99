// Finds out who a caller is: by his token, which the API server reviews for one of our audiences, or by his
// certificate, whose name is the user and whose organisations are the groups, as the API server has it.
//
// An answer of the API server, a refusal too, stands for ten seconds; the token is remembered as its SHA-256.
// When the API server cannot be asked, nobody is let in. Safe for any thread.
#pragma once

#include <string>
#include <vector>

#include "kube/client/client.h"
#include "service/access/caller.h"
#include "service/answer/fault.h"
#include "serving/digest.h"
#include "serving/expiring_cache.h"

namespace caravan::service {

inline constexpr std::chrono::seconds kReviewsStand{10};
inline constexpr std::chrono::minutes kNamesStand{10};

// What a TokenReview says of a token for these audiences; the caller has no token yet.
Answer<Caller> caller_of_review(const kube::Json& review, const std::vector<std::string>& audiences);
// Of a certificate in PEM, also of one that has expired.
Answer<Caller> caller_of_certificate(const std::string& pem);

class Callers {
 public:
  static constexpr std::size_t kMostRemembered = 4096;
  static constexpr std::size_t kLongestToken = std::size_t{16} << 10;

  Callers(kube::Client& client, Clock& clock, std::vector<std::string> audiences)
      : client_(client),
        clock_(clock),
        audiences_(std::move(audiences)),
        known_(clock, kReviewsStand, kMostRemembered),
        refused_(clock, kReviewsStand, kMostRemembered),
        lately_(clock, kNamesStand, kMostRemembered) {}

  Answer<Caller> identify(const CallContext& context, const Credential& credential);
  // Whom it let in before.
  Answer<Caller> identify_again(const CallContext& context, const Caller& caller);
  // The same without a question to the API server; nothing: one is needed.
  std::optional<Answer<Caller>> recall(const Credential& credential) const;
  // Whose token it was when it was reviewed last: behind whose calls it may wait, and never that it is good.
  std::optional<std::string> user_lately(const Credential& credential) const;

 private:
  std::optional<Answer<Caller>> recall_token(const std::string& token) const;
  Answer<Caller> while_certificate_lasts(const Caller& caller) const;
  Answer<Caller> review(const CallContext& context, const std::string& token);

  kube::Client& client_;
  Clock& clock_;
  const std::vector<std::string> audiences_;
  ExpiringCache<Digest, Caller> known_;        // without their tokens
  ExpiringCache<Digest, Fault> refused_;       // apart, so that made up tokens push out nobody
  ExpiringCache<Digest, std::string> lately_;  // users
};

}  // namespace caravan::service
