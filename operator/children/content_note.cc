#include "operator/children/content_note.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

#include "operator/api/names.h"

namespace caravan::controller {
namespace {

constexpr std::size_t kFingerprintSize = 64;

}  // namespace

std::string fingerprint_of_text(std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

void note_content(const std::string& fingerprint, kube::Json& child) {
  kube::Json& noted = child.as_object()["metadata"].as_object()["annotations"];
  if (!noted.is_object()) noted = kube::JsonObject();
  noted.as_object()[annotations::kContent] = fingerprint;
}

std::string noted_content(const kube::Json& child) {
  std::string noted = kube::text_at(child, {"metadata", "annotations", annotations::kContent});
  return noted.size() == kFingerprintSize ? noted : "";
}

}  // namespace caravan::controller
