// What a cluster did not do, in one sentence with what to do about it, and what to decide by. Pure.
#pragma once

#include <string>

#include "common/result.h"

namespace caravan::cli {

// What was asked for, for the sentence.
struct Asked {
  std::string verb;  // of RBAC, such as "list"
  std::string resource = "llamatrainingjobs.training.caravan.dev";
  std::string name_space = {};  // empty: of all, or of none
  std::string name = {};        // empty: the collection
  std::string context = {};     // of the kubeconfig, where the user has named it
  bool creates_job = false;
  bool may_be_created = false;  // that job, by a try that had no answer in time

  bool is_of_jobs() const { return resource.starts_with("llamatrainingjobs"); }
};

enum class Trouble {
  kOther,
  kOutage,   // it may be over in a moment: no server was reached, or it could not answer
  kRefusal,  // the server does not know the user, or gives him no right to that
  kNotFound,
  kChanged,  // since it was read
};

struct [[nodiscard]] ClusterError : Error {
  Trouble trouble = Trouble::kOther;
  bool is_of_any_call = false;  // no server is reached, or none that takes the user

  bool is_outage() const { return trouble == Trouble::kOutage; }
  bool is_refusal() const { return trouble == Trouble::kRefusal; }
  bool has_changed() const { return trouble == Trouble::kChanged; }
  bool is_not_found() const { return trouble == Trouble::kNotFound; }
};

template <typename T>
using ClusterResult = tl::expected<T, ClusterError>;

// What leads another command to the jobs of that namespace, empty: of all: " -n team --context prod".
std::string place_options(const std::string& name_space, const std::string& context);

// Sentences that are the same whoever answers. words: the server's.
Error no_such_job(const Asked& asked);
Error name_is_taken(const Asked& asked);
// Names the right to ask for where one is missing.
Error forbidden(const std::string& words, const Asked& asked);
Error refused(const std::string& words, const Asked& asked);

}  // namespace caravan::cli
