#include "tests/crd/refusal.h"

#include <fmt/format.h>

#include <algorithm>

namespace caravan::kube::testing {
namespace {

// "expected a number, got 3", "a must be b; a is 3", "3 is not available".
bool says_the_same(const std::string& loader, const std::string& server) {
  const std::size_t at = loader.find(server);
  if (at == std::string::npos || server.empty()) return false;
  const std::string before = loader.substr(0, at);
  const std::string after = loader.substr(at + server.size());
  return (before.empty() || before.ends_with(" is ")) &&
         (after.empty() || after.starts_with(", got ") || after.starts_with("; "));
}

// The server leaves the rules for later when it has said one of these.
bool is_in_own_words(const Cause& cause) {
  return cause.message.starts_with("Required value") || cause.message.starts_with("Unsupported value: ") ||
         cause.message.starts_with("Duplicate value: ") || cause.message.starts_with("Too long: ") ||
         cause.message.starts_with("Too many: ") ||
         cause.message.find("a lowercase RFC 1123 subdomain must") != std::string::npos ||
         cause.sentence().starts_with(cause.field + " in body must be of type ");
}

// These come before everything else, also those within a value of the wrong type.
bool is_unknown_field(const std::string& message, const std::string& path) {
  return message.find(fmt::format("strict decoding error: unknown field \"{}", path)) != std::string::npos;
}

}  // namespace

bool is_refused_alike(const Answer& server, const schema::Diagnostic& loader) {
  const std::vector<Cause> causes = server.causes();
  return is_unknown_field(server.message(), loader.path) ||
         std::any_of(causes.begin(), causes.end(), [&](const Cause& cause) {
           return cause.field == loader.path &&
                  (says_the_same(loader.text, cause.sentence()) || is_in_own_words(cause));
         });
}

}  // namespace caravan::kube::testing
