#include "service/rpc/json_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "caravan/v1alpha1/job_service.pb.h"
#include "http/server.h"
#include "http/texts.h"
#include "http/under_way.h"
#include "service/audited_call.h"
#include "service/json/compiled_openapi.h"
#include "service/json/route.h"
#include "service/json/transcode.h"
#include "service/page/page.h"
#include "service/rpc/method_table.h"
#include "serving/log.h"
#include "serving/peer.h"

namespace caravan::service {
namespace {

using ExchangePtr = std::shared_ptr<http::Exchange>;

constexpr std::string_view kOpenapiPath = "/openapi.json";  // for anybody, as gRPC's reflection
Credential credential_of(const http::Request& request) {
  return {.token = bearer_in(request.field("authorization")),
          .certificate_pem = request.certificate_pem,
          .host = request.host};
}

// Held while a call lasts; tells of its end.
struct Handling {
  Handling(std::shared_ptr<void> counted, std::function<void(int)> on_over)
      : counted(std::move(counted)), on_over(std::move(on_over)) {}
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;
  ~Handling() { on_over(code); }

  const std::shared_ptr<void> counted;
  const std::function<void(int)> on_over;
  std::atomic<int> code = static_cast<int>(Code::kCancelled);  // unless it ends in another way
  std::shared_ptr<void> counted_stream = {};
  Shares::Ticket ticket = {};  // of a stream
};
using HandlingPtr = std::shared_ptr<Handling>;

class Server final : public JsonServer {
 public:
  Server(Config config, Clock& clock, Gate& gate, Shares& shares, Audit& audit, Methods& methods,
         OnHandled on_handled)
      : config_(std::move(config)),
        clock_(clock),
        gate_(gate),
        shares_(shares),
        audit_(audit),
        methods_(method_table(methods)),
        on_handled_(std::move(on_handled)) {}

  ~Server() override { stop(std::chrono::milliseconds(0)); }

  Status listen() {
    auto shown = read_tls_files(config_.tls);
    if (!shown) return tl::unexpected(shown.error());
    auto context = http::make_tls_context(*shown);
    if (!context) return tl::unexpected(context.error());
    auto server = http::Server::start(
        config_.listen, [this](const ExchangePtr& exchange) { take(exchange); }, config_.limits, *context,
        [](const http::Refusal& refusal) { return reply_of(refusal); });
    if (!server)
      return tl::unexpected(Error{"--http-listen: " + server.error().message, server.error().code});
    server_ = *std::move(server);
    renewal_ = std::jthread(
        [this, shown = *std::move(shown)](const std::stop_token& stop) { renew_tls(shown, stop); });
    return {};
  }

  const std::string& address() const override { return server_->address(); }

  void stop(std::chrono::milliseconds grace) override {
    renewal_ = {};
    if (server_) server_->stop(grace);
    server_.reset();  // which asks what is under way to stop
    under_way_.wait_for_none();
  }

 private:
  void renew_tls(http::TlsMaterial shown, const std::stop_token& stop) {
    for (bool was_unreadable = false; clock_.sleep_until(clock_.now() + kTlsFilesStand, stop);) {
      auto read = read_tls_files(config_.tls);
      // In the middle of a replacement, one of them may be missing for a moment.
      if (!read && std::exchange(was_unreadable, true))
        log_line(spdlog::level::warn, "the certificate cannot be read again: " + read.error().message);
      if (!read) continue;
      was_unreadable = false;
      if (*read == shown) continue;
      const auto context = http::make_tls_context(*read);
      if (!context)
        log_line(spdlog::level::warn, "the new certificate is not shown: " + context.error().message);
      shown = *std::move(read);
      if (context) server_->renew(*context);
    }
  }

  // By the server's thread.
  void take(const ExchangePtr& exchange) {
    const http::Request& request = exchange->request();
    if (http::reads(request)) {
      if (request.path() == kOpenapiPath)
        return exchange->reply({.content_type = "application/json", .body = std::string(kOpenapi)});
      if (auto page = page_reply(request.path())) return exchange->reply(*std::move(page));
    }
    auto match = routes_.find(request.method, request.path());
    if (!match) return exchange->reply(refusal(match.error(), request.path()));
    const auto handling = std::make_shared<Handling>(
        under_way_.enter(), [this, method = match->route->method, began = clock_.now()](int code) {
          on_handled_(method->name(), code, clock_.now() - began);
        });
    gate_.enter(credential_of(request),
                {.stop = exchange->stop(), .deadline = clock_.now() + config_.longest_call},
                [this, exchange, handling, match = *std::move(match)](const Call& call,
                                                                      const Answer<void>& admitted) {
                  const Answer<void> begun = serve(call, admitted, match, exchange, handling);
                  if (begun) return;
                  handling->code = static_cast<int>(begun.error().code);
                  exchange->reply(reply_of(begun.error()));
                });
  }

  http::Reply refusal(const Fault& fault, std::string_view path) const {
    http::Reply reply = reply_of(fault);
    if (fault.code != Code::kUnimplemented) return reply;
    reply.status = "405 Method Not Allowed";
    reply.fields.emplace_back("Allow", fmt::format("{}", fmt::join(routes_.verbs_of(path), ", ")));
    return reply;
  }

  // An error is what to reply. Nothing of a request that is not admitted is read but its path.
  Answer<void> serve(const Call& call, const Answer<void>& admitted, const Match& match,
                     const ExchangePtr& exchange, const HandlingPtr& handling) {
    const std::string& name = match.route->method->name();
    const auto& method = methods_.at(name);
    const auto request = admitted.and_then([&] { return request_of(match, exchange->request()); });
    if (const auto* stream = std::get_if<StreamMethod>(&method)) {
      if (!request) return tl::unexpected(request.error());
      return open(*stream, call, match, **request, exchange, handling);
    }
    const auto& unary = std::get<UnaryMethod>(method);
    const auto answer = request ? unary.run(call, **request) : tl::unexpected(request.error());
    if (unary.changes) {
      const AuditedCall asked = request ? audited_call(name, **request) : AuditedCall{name, match.value};
      audit_call(audit_, call, asked, admitted.has_value(), answer);
    }
    if (!answer) return tl::unexpected(answer.error());
    handling->code = 0;
    exchange->reply(reply_of(**answer));
    return {};
  }

  Answer<void> open(const StreamMethod& method, const Call& call, const Match& match, const Message& request,
                    const ExchangePtr& exchange, const HandlingPtr& handling) {
    handling->counted_stream = streams_.enter();
    if (streams_.count() > config_.streams)
      return fault(Code::kResourceExhausted, faults::kBusy, "too many streams are open; ask again later");
    auto ticket = shares_.take_stream(call.caller.user);
    if (!ticket) return tl::unexpected(std::move(ticket.error()));
    handling->ticket = *std::move(ticket);
    const std::weak_ptr<http::Exchange> weak = exchange;
    const std::weak_ptr<Handling> weak_handling = handling;
    auto next = method.open(
        call, request,
        [weak] {
          if (const auto held = weak.lock()) held->wake();
        },
        [weak, weak_handling](const Fault* fault) {
          const int code = fault == nullptr ? 0 : static_cast<int>(fault->code);
          if (const auto held = weak_handling.lock()) held->code = code;
          if (const auto held = weak.lock()) held->end(fault == nullptr ? kEnd : event_of(*fault));
        });
    if (!next) return tl::unexpected(std::move(next.error()));
    exchange->stream(
        head_of_events(),
        [next = *std::move(next), type = match.route->method->output_type()](std::string& into) {
          const MessagePtr message = new_message(*type);
          if (!next(*message)) return false;
          into += event_of(*message);
          return true;
        },
        kHeartbeat, handling);
    return {};
  }

  const Config config_;
  Clock& clock_;
  Gate& gate_;
  Shares& shares_;
  Audit& audit_;
  const Routes routes_{*v1alpha1::Job::descriptor()->file()->FindServiceByName("JobService")};
  const MethodTable methods_;
  const OnHandled on_handled_;
  http::UnderWay streams_;
  http::UnderWay under_way_;
  std::optional<http::Server> server_;
  std::jthread renewal_;
};

}  // namespace

Result<std::unique_ptr<JsonServer>> JsonServer::start(Config config, Clock& clock, Gate& gate, Shares& shares,
                                                      Audit& audit, Methods& methods, OnHandled on_handled) {
  auto server =
      std::make_unique<Server>(std::move(config), clock, gate, shares, audit, methods, std::move(on_handled));
  if (Status listening = server->listen(); !listening) return tl::unexpected(listening.error());
  return server;
}

}  // namespace caravan::service
