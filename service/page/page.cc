#include "service/page/page.h"

#include <algorithm>
#include <string>

#include "service/page/page_files.h"

namespace caravan::service {
namespace {

constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// In index.html.
constexpr std::string_view kRunIs = "name=\"caravan-run\" content=\"";

std::string with_run(std::string body, std::string_view run) {
  if (const std::size_t at = body.find(kRunIs); at != std::string::npos) body.insert(at + kRunIs.size(), run);
  return body;
}

}  // namespace

std::optional<http::Reply> page_reply(std::string_view path, std::string_view run) {
  const auto file = std::ranges::find(kPageFiles, path, &PageFile::path);
  if (file == kPageFiles.end()) return std::nullopt;
  // What is named by its hash never changes; the page that names it does, with the program.
  const char* caching = path == "/" ? "no-cache" : "public, max-age=31536000, immutable";
  return http::Reply{.content_type = std::string(file->content_type),
                     .body = with_run(std::string(file->body), path == "/" ? run : ""),
                     .fields = {{"Content-Security-Policy", kPolicy},
                                {"X-Content-Type-Options", "nosniff"},
                                {"Referrer-Policy", "no-referrer"},
                                {"Cache-Control", caching}}};
}

}  // namespace caravan::service
