#include "cli/run/trace_directory.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace caravan::cli {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> unusable(const std::string& folder, const std::string& why) {
  return bad_input(fmt::format("--trace: cannot write into '{}': {}; give a folder of yours", folder, why));
}

}  // namespace

Result<fs::path> prepare_trace_directory(const std::string& given, int ranks) {
  std::error_code error;
  const fs::path folder = fs::absolute(given, error).lexically_normal();
  if (!error) fs::create_directories(folder, error);
  if (error) return unusable(given, error.message());
  for (int rank = 0; rank < ranks; ++rank) {
    const fs::path file = folder / fmt::format("rank-{}.json", rank);
    errno = 0;
    if (!std::ofstream(file, std::ios::app)) return unusable(given, std::strerror(errno));
    fs::remove(file, error);
    if (error) return unusable(given, error.message());
  }
  return folder;
}

}  // namespace caravan::cli
