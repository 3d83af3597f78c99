// What the API server takes for names, for values of labels and for notes. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace caravan::kube {

// In bytes.
inline constexpr std::size_t kLongestName = 253;   // of most objects: a subdomain of RFC 1123
inline constexpr std::size_t kLongestLabel = 63;   // of RFC 1123, as of a namespace; of a label's value, too
inline constexpr std::size_t kLongestNote = 1024;  // of an event

// What is not empty: letters, digits, '-', '_' and '.', a letter or digit at either end.
bool is_label_value(std::string_view text, std::size_t longest = kLongestLabel);

}  // namespace caravan::kube
