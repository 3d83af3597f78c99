// What cannot be trusted after the fields were read. Rules that look there would only repeat a mistake in
// other words.
#pragma once

#include <string>
#include <vector>

namespace caravan::schema {

struct Doubts {
  std::vector<std::string> wrong;  // paths of fields with a mistake
  // Paths of messages with a field that nobody knows: any of their absent fields may be what it was meant to
  // be.
  std::vector<std::string> incomplete;
};

}  // namespace caravan::schema
