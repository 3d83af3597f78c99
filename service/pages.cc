#include "service/pages.h"

#include <fmt/format.h>

#include "serving/log.h"

namespace caravan::service {
namespace {

http::Reply text_reply(bool good, const std::string& text) {
  return {.content_type = "text/plain; charset=utf-8",
          .body = text + "\n",
          .status = good ? "200 OK" : "503 Service Unavailable"};
}

std::optional<http::Reply> probe(std::string_view path, const PageContents& contents) {
  if (path == "/healthz") {
    const auto hung = contents.what_hangs();
    return text_reply(!hung, hung.value_or("ok"));
  }
  if (path != "/readyz") return std::nullopt;
  return contents.is_ready() ? text_reply(true, "ok") : text_reply(false, "the jobs are not read yet");
}

Result<http::Server> serve(const char* flag, const std::string& address, http::Handler handler) {
  auto server = http::Server::start(address, std::move(handler));
  if (!server)
    return tl::unexpected(Error{fmt::format("{}: {}", flag, server.error().message), server.error().code});
  return server;
}

}  // namespace

Result<std::pair<http::Server, http::Server>> serve_pages(const std::string& probes,
                                                          const std::string& metrics, PageContents contents) {
  auto probed =
      serve("--probes", probes, [contents](std::string_view path) { return probe(path, contents); });
  if (!probed) return tl::unexpected(probed.error());
  auto scraped =
      serve("--metrics", metrics,
            [text = std::move(contents.metrics)](std::string_view path) -> std::optional<http::Reply> {
              if (path != "/metrics") return std::nullopt;
              return http::Reply{"text/plain; version=0.0.4; charset=utf-8", text()};
            });
  if (!scraped) return tl::unexpected(scraped.error());
  log_line(spdlog::level::info, "probes and metrics are served",
           {{"probes", probed->address()}, {"metrics", scraped->address()}});
  return std::pair(std::move(*probed), std::move(*scraped));
}

}  // namespace caravan::service
