// Base64 (RFC 4648, section 4), as the -data fields of a kubeconfig and of Secrets hold it.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"

namespace caravan::kube {

// Line ends are ignored. `what` names the text in the error.
Result<std::string> decode_base64(std::string_view text, std::string_view what);
std::string encode_base64(std::string_view bytes);

}  // namespace caravan::kube
