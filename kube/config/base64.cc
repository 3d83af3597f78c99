#include "kube/config/base64.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>

namespace caravan::kube {

Result<std::string> decode_base64(std::string_view text, std::string_view what) {
  std::string packed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(packed),
               [](char c) { return c != '\n' && c != '\r' && c != ' '; });
  std::string bytes(packed.size() / 4 * 3, '\0');
  const int length = packed.size() % 4 != 0
                         ? -1
                         : EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                           reinterpret_cast<const unsigned char*>(packed.data()),
                                           static_cast<int>(packed.size()));
  if (length < 0) return bad_input(fmt::format("{} is not base64", what));
  const auto padding = std::count(packed.end() - static_cast<long>(std::min<std::size_t>(packed.size(), 2)),
                                  packed.end(), '=');
  bytes.resize(static_cast<std::size_t>(length) - static_cast<std::size_t>(padding));
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL adds a zero
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace caravan::kube
