#include "common/rpc_status.h"

#include <array>
#include <cstddef>

namespace caravan {

std::string_view rpc_code_name(int code) {
  // https://grpc.github.io/grpc/core/md_doc_statuscodes.html, from 0 on.
  constexpr std::array<std::string_view, 17> kNames{
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

}  // namespace caravan
