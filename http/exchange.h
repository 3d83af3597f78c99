// One request and its answer, which any thread gives at any time: a whole reply, or a stream.
//
// Whoever is handed an exchange answers it, once, however late; what he says after the client has gone, or
// the server has ended, is lost. Safe for any thread.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "http/message.h"

namespace caravan::http {

class Exchange {
 public:
  // Appends what there is to be sent next; false: there is nothing now. Called by the server's thread when
  // there is room for it, so it must neither block nor call back.
  using Next = std::function<bool(std::string& into)>;

  virtual ~Exchange() = default;

  virtual const Request& request() const = 0;
  virtual void reply(Reply reply) = 0;
  // Whoever has something new calls wake(). heartbeat: sent while there is nothing else for a while. kept:
  // held until the stream is over. head.body is sent first.
  virtual void stream(Reply head, Next next, std::string heartbeat, std::shared_ptr<void> kept) = 0;
  virtual void wake() = 0;
  // Ends the stream with these last words, or as soon as it begins.
  virtual void end(std::string last_words) = 0;
  // Requested when the client has gone or the stream is over.
  virtual std::stop_token stop() const = 0;
};

using Handler = std::function<void(const std::shared_ptr<Exchange>&)>;
// What is answered to a request that is not handed over.
using Refuse = std::function<Reply(const Refusal&)>;

}  // namespace caravan::http
