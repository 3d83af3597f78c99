// The methods of the service by their names in its descriptor, on messages of whatever type, for whatever
// serves them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <variant>

#include "service/json/transcode.h"
#include "service/methods/call.h"
#include "service/methods/methods.h"

namespace caravan::service {

using google::protobuf::Message;

// With one answer.
struct UnaryMethod {
  std::function<Answer<MessagePtr>(const Call& call, const Message& request)> run;
  bool changes = false;  // something: it is audited
};

// With a stream of answers. What it returns gives the next one; false: there is none now. news: that there is
// one; end: that the stream is over, with null as it should be.
struct StreamMethod {
  using Next = std::function<bool(Message& into)>;
  using End = std::function<void(const Fault*)>;
  std::function<Answer<Next>(const Call& call, const Message& request, std::function<void()> news, End end)>
      open;
};

using MethodTable = std::map<std::string, std::variant<UnaryMethod, StreamMethod>>;

// methods outlives it.
MethodTable method_table(Methods& methods);

}  // namespace caravan::service
