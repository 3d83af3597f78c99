// Requests of HTTP as messages, and answers as JSON. Pure.
//
// JSON is that of common/json.h: names in lowerCamelCase, numbers as numbers. Reading is strict: a field or
// parameter that is not there, given twice, or of the wrong type is INVALID_ARGUMENT and named. Errors are a
// google.rpc.Status, as protobuf prints it, with the status of HTTP that its code stands for
// (google/rpc/code.proto), or that of what HTTP itself does not take.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "http/message.h"
#include "service/answer/fault.h"
#include "service/json/route.h"

namespace caravan::service {

using MessagePtr = std::unique_ptr<google::protobuf::Message>;

MessagePtr new_message(const google::protobuf::Descriptor& type);

// From path, query and body, and for a stream of events from the field Last-Event-ID.
Answer<MessagePtr> request_of(const Match& match, const http::Request& request);

// "404 Not Found" for NOT_FOUND.
std::string status_line_of(Code code);

http::Reply reply_of(const google::protobuf::Message& answer);
// With Retry-After wherever to ask again may help.
http::Reply reply_of(const Fault& fault);
http::Reply reply_of(const http::Refusal& refusal);

// Server-sent events. The id is where the client goes on from: the message's resume_token or cursor,
// which its browser gives back as Last-Event-ID.
http::Reply head_of_events();
std::string event_of(const google::protobuf::Message& message);
// Of the type `fault`; nothing follows it.
std::string event_of(const Fault& fault);
// Of a stream that ends as it should, as that of a job's log: who reads it need not come again.
inline constexpr char kEnd[] = "event: end\ndata: {}\n\n";
inline constexpr char kHeartbeat[] = ":\n\n";  // a comment

}  // namespace caravan::service
