// What the operator wrote into a child, noted there as an annotation: whether it is still what is wanted can
// be told without keeping it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "kube/api/json.h"

namespace caravan::controller {

// SHA-256, in hexadecimal digits.
std::string fingerprint_of_text(std::string_view content);
void note_content(const std::string& fingerprint, kube::Json& child);
// Empty: none is noted. Others write as much as they please: what cannot be a fingerprint is none.
std::string noted_content(const kube::Json& child);

}  // namespace caravan::controller
