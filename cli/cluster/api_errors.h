// What the API server refused, in one sentence with what to do about it, and the exit code that goes with it:
// 4 when no server was reached, 2 for what it found wrong with an object. Pure.
#pragma once

#include <string>

#include "common/result.h"
#include "kube/api/api_error.h"

namespace caravan::cli {

// What was asked for, for the sentence.
struct Asked {
  std::string verb;  // of RBAC, such as "list"
  std::string resource = "llamatrainingjobs.training.caravan.dev";
  std::string name_space = {};  // empty: of all, or of none
  std::string name = {};        // empty: the collection
};

// The server's own words, without the call and the code.
std::string words_of(const kube::ApiError& error);

// The sentence, and what to decide by.
struct [[nodiscard]] ClusterError : Error {
  kube::ErrorKind kind = kube::ErrorKind::kStatus;
  int http_status = 0;  // of kStatus

  // It may be over in a moment: no server was reached, or it could not answer.
  bool is_outage() const;
  // The server does not know the user, or gives him no right to that.
  bool is_refusal() const;
  bool is_not_found() const;
};

template <typename T>
using ClusterResult = tl::expected<T, ClusterError>;

ClusterError explain(const kube::ApiError& error, const Asked& asked, const std::string& server);

}  // namespace caravan::cli
