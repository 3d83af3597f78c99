#include "common/file_contents.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace caravan {

Result<std::string> file_contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return bad_input(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace caravan
