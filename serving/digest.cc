#include "serving/digest.h"

#include <openssl/sha.h>

namespace caravan {

Digest digest_of(std::string_view text) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

}  // namespace caravan
