// What was found while a text was turned into a message. A remark says where (line and field path) and what.
#pragma once

#include <string>
#include <vector>

namespace caravan::schema {

struct Remark {
  int line = 0;      // 0: given on the command line
  std::string path;  // spec.training.steps; empty for the text as a whole
  std::string text;
  bool operator==(const Remark&) const = default;
};

struct Findings {
  std::vector<Remark> mistakes;
  // Accepted, but the user should know: ignored fields, numbers taken as strings.
  std::vector<Remark> notes;
  // Paths of given fields that have a meaning on a cluster only.
  std::vector<std::string> cluster_only;
};

}  // namespace caravan::schema
