#include "serving/pages.h"

#include <utility>

#include "http/texts.h"
#include "serving/log.h"

namespace caravan {
namespace {

// That of ten thousand jobs takes 20 to 40 MB.
constexpr std::size_t kTextBytes = std::size_t{128} << 20;  // of all scrapers together
constexpr std::size_t kScrapersAtOnce = 16;

http::Reply text_reply(bool good, const std::string& text) {
  return {.content_type = http::kPlainText,
          .body = text + "\n",
          .status = good ? "200 OK" : "503 Service Unavailable"};
}

std::optional<http::Reply> probe(std::string_view path, const PageContents& contents) {
  if (path == "/healthz") {
    const auto hung = contents.what_hangs();
    return text_reply(!hung, hung.value_or("ok"));
  }
  if (path != "/readyz") return std::nullopt;
  if (contents.stops()) return text_reply(false, "it is about to end");
  return contents.caches_are_filled() ? text_reply(true, "ok")
                                      : text_reply(false, "the caches are not filled yet");
}

}  // namespace

Result<Pages> Pages::serve(const std::string& probes, const std::string& metrics, PageContents contents) {
  auto probed = http::Server::start(
      probes, http::serve_texts([contents](std::string_view path) { return probe(path, contents); }));
  if (!probed) return tl::unexpected(Error{"--probes: " + probed.error().message, probed.error().code});
  const auto page = [text =
                         std::move(contents.metrics)](std::string_view path) -> std::optional<http::Reply> {
    if (path != "/metrics") return std::nullopt;
    return http::Reply{http::kMetricsText, text()};
  };
  auto scraped = http::Server::start(metrics, http::serve_texts(page),
                                     {.connections = kScrapersAtOnce, .memory_bytes = kTextBytes});
  if (!scraped) return tl::unexpected(Error{"--metrics: " + scraped.error().message, scraped.error().code});
  log_line(spdlog::level::info, "probes and metrics are served",
           {{"probes", probed->address()}, {"metrics", scraped->address()}});
  return Pages(std::move(*probed), std::move(*scraped));
}

}  // namespace caravan
