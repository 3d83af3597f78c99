#include "cli/page/run_page.h"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "cli/page/door.h"
#include "cli/page/page_address.h"
#include "cli/page/run_answers.h"
#include "cli/page/run_record.h"
#include "cli/page/run_streams.h"
#include "http/server.h"
#include "http/texts.h"
#include "http/under_way.h"
#include "service/json/route.h"
#include "service/json/transcode.h"
#include "service/page/page.h"

namespace caravan::cli {
namespace {

using namespace std::chrono_literals;
using service::Answer;
using service::event_of;
using service::reply_of;
using ExchangePtr = std::shared_ptr<http::Exchange>;

constexpr auto kLookAgain = 500ms;  // of all who read a stream
// Until the readers have taken the end. A page asks for the last events before it lets go of its stream.
constexpr auto kLastAnswers = 5s;
constexpr auto kBetweenLooks = 20ms;
constexpr auto kGrace = 500ms;
constexpr http::Limits kLimits = {.head_bytes = std::size_t{16} << 10, .body_bytes = std::size_t{1} << 20};

// Of a stream: a watch always does.
bool follows(const google::protobuf::Message& request) {
  const auto* field = request.GetDescriptor()->FindFieldByName("follow");
  return field == nullptr || request.GetReflection()->GetBool(request, field);
}

class Page final : public RunPage {
 public:
  Page(const v1alpha1::ObjectMeta& job, const PreparedRun& run, std::filesystem::path logs, Door door,
       Clock& clock)
      : clock_(clock), logs_(std::move(logs)), door_(std::move(door)), record_(clock, job, run) {}

  ~Page() override {
    ticks_ = {};
    server_.reset();
    readers_.wait_for_none();
  }

  Status listen(const PageAddress& address) {
    auto server = http::Server::start(
        address.listen, [this](const ExchangePtr& exchange) { take(exchange); }, kLimits);
    if (!server) return tl::unexpected(Error{"--page: " + server.error().message, server.error().code});
    url_ = url_of(address, server->address(), door_.token);
    warning_ = address.is_loopback ? "" : kOpenToOthers;
    server_ = *std::move(server);
    ticks_ = std::jthread([this](const std::stop_token& stop) {
      while (clock_.sleep_until(clock_.now() + kLookAgain, stop)) record_.wake_all();
    });
    return {};
  }

  const std::string& url() const override { return url_; }
  const std::string& warning() const override { return warning_; }
  RunListener& listener() override { return record_; }

  void end(const v1alpha1::JobResult& result, const UserSignals& signals) override {
    record_.end(result);
    record_.wake_all();
    const Clock::TimePoint last = clock_.now() + kLastAnswers;
    bool is_cut_short = false;
    while (readers_.count() > 0 && clock_.now() < last && !is_cut_short)
      is_cut_short = signals.ask_to_end(kBetweenLooks);
    server_->stop(is_cut_short ? 0ms : kGrace);
  }

 private:
  static constexpr char kOpenToOthers[] =
      "the page is served to the network and is not encrypted: who can read along can read its token";

  // By the server's thread.
  void take(const ExchangePtr& exchange) {
    const http::Request& request = exchange->request();
    if (const auto ours = check_origin(door_, request); !ours) return exchange->reply(reply_of(ours.error()));
    if (http::reads(request)) {
      if (auto file = service::page_reply(request.path(), record_.name()))
        return exchange->reply(*std::move(file));
    }
    const auto served = serve(exchange);
    if (!served) exchange->reply(reply_of(served.error()));
  }

  // An error is what to reply.
  Answer<void> serve(const ExchangePtr& exchange) {
    const http::Request& request = exchange->request();
    if (auto known = check_token(door_, request); !known) return known;
    const auto match = routes_.find(request.method, request.path());
    if (!match) return tl::unexpected(match.error());
    const auto message = service::request_of(*match, request);
    if (!message) return tl::unexpected(message.error());
    const auto& method = *match->route->method;
    if (method.server_streaming()) return stream(method, **message, exchange);
    const auto answered = answer(record_, method.name(), **message);
    if (!answered) return tl::unexpected(answered.error());
    exchange->reply(reply_of(**answered));
    return {};
  }

  Answer<void> stream(const google::protobuf::MethodDescriptor& method,
                      const google::protobuf::Message& request, const ExchangePtr& exchange) {
    auto next = open_stream(record_, logs_, method.name(), request);
    if (!next) return tl::unexpected(next.error());
    auto followed = record_.follow([weak = std::weak_ptr(exchange)] {
      if (const auto held = weak.lock()) held->wake();
    });
    const auto kept = std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
        readers_.enter(), std::move(followed));
    exchange->stream(
        service::head_of_events(),
        [next = *std::move(next), type = method.output_type(), weak = std::weak_ptr(exchange),
         stays = follows(request), is_over = false](std::string& into) mutable {
          if (is_over) return false;
          const auto message = service::new_message(*type);
          const Told told = next(*message);
          if (told == Told::kMessage) into += event_of(*message);
          is_over = told == Told::kAll;
          // Whoever follows closes it himself: what he is told last is then surely read.
          if (const auto held = weak.lock(); is_over && !stays && held) {
            held->end(service::kEnd);
            return false;
          }
          if (is_over) into += service::kEnd;
          return told != Told::kNothingNow;
        },
        service::kHeartbeat, kept);
    return {};
  }

  Clock& clock_;
  const std::filesystem::path logs_;
  const Door door_;
  const service::Routes routes_{*v1alpha1::Job::descriptor()->file()->FindServiceByName("JobService")};
  RunRecord record_;
  http::UnderWay readers_;  // of streams
  std::string url_;
  std::string warning_;
  std::optional<http::Server> server_;
  std::jthread ticks_;
};

}  // namespace

Result<std::unique_ptr<RunPage>> RunPage::start(const std::string& address, const v1alpha1::ObjectMeta& job,
                                                const PreparedRun& run, const std::filesystem::path& logs,
                                                Clock& clock) {
  const auto parsed = parse_page_address(address);
  if (!parsed) return tl::unexpected(parsed.error());
  auto token = random_token();
  if (!token) return tl::unexpected(token.error());
  auto page = std::make_unique<Page>(job, run, logs, Door{*std::move(token), parsed->names}, clock);
  if (Status listening = page->listen(*parsed); !listening) return tl::unexpected(listening.error());
  return page;
}

}  // namespace caravan::cli
