#include "service/answer/fault.h"

#include <fmt/format.h>
#include <google/rpc/status.pb.h>

#include <algorithm>

#include "common/utf8.h"
#include "operator/api/names.h"

namespace caravan::service {
namespace {

// Of what goes into headers, in bytes.
constexpr std::size_t kLongestSentence = 1024;
constexpr std::size_t kLongestFields = 1536;  // together

constexpr std::chrono::seconds kConflictLasts{1};

// "POST /apis/...: 409 Conflict: the words" without what the client has put before them.
std::string words_of(const kube::ApiError& error) {
  std::size_t at = error.message.find(": ");
  if (error.kind != kube::ErrorKind::kStatus || at == std::string::npos) return error.message;
  at = error.message.find(": ", at + 2);
  return at == std::string::npos ? error.message : error.message.substr(at + 2);
}

bool is_quota(const kube::ApiError& error) {
  return error.is_forbidden() && error.message.find("exceeded quota") != std::string::npos;
}

Fault fault_of_answer(const kube::ApiError& error) {
  const std::string words = words_of(error);
  if (is_quota(error))
    return {.code = Code::kResourceExhausted,
            .reason = faults::kQuota,
            .message = words,
            .quotas = {{"ResourceQuota", words}}};
  if (error.is_already_exists())
    return {.code = Code::kAlreadyExists, .reason = faults::kExists, .message = words};
  switch (error.code) {
    case 400:
    case 413:
    case 422:
      return {.code = Code::kInvalidArgument, .reason = faults::kBadRequest, .message = words};
    case 403:
      return {.code = Code::kPermissionDenied, .reason = faults::kForbidden, .message = words};
    case 404:
      return {.code = Code::kNotFound, .reason = faults::kNotFound, .message = words};
    case 409:  // with what others change, such as a quota
      return {.code = Code::kUnavailable,
              .reason = faults::kBusy,
              .message = words,
              .retry_after = kConflictLasts};
    case 410:
      return {.code = Code::kOutOfRange, .reason = faults::kTokenTooOld, .message = words};
    case 429:
      return {.code = Code::kResourceExhausted, .reason = faults::kRate, .message = words};
    default:
      return {.code = Code::kUnavailable, .reason = faults::kServerAway, .message = words};
  }
}

// Only a job has many.
void leave_out_the_last(std::vector<Violation>& fields) {
  std::size_t bytes = 0;
  const auto has_room = [&bytes](const Violation& one) {
    bytes += one.subject.size() + one.description.size();
    return bytes <= kLongestFields;
  };
  const auto rest = std::ranges::find_if_not(fields, has_room);
  if (rest == fields.end()) return;
  const auto left_out = fields.end() - rest;
  fields.erase(rest, fields.end());
  fields.push_back({"job", fmt::format("has {} more mistakes, for which there is no room here", left_out)});
}

template <typename Detail>
void add(const Detail& detail, google::rpc::Status& status) {
  status.add_details()->PackFrom(detail);
}

}  // namespace

tl::unexpected<Fault> bad_field(std::string field, std::string sentence) {
  Fault bad{.code = Code::kInvalidArgument,
            .reason = faults::kBadRequest,
            .message = field + ": " + sentence,
            .fields = {{field, sentence}}};
  return tl::unexpected<Fault>(std::move(bad));
}

Fault fault_of(const kube::ApiError& error) {
  using enum kube::ErrorKind;
  switch (error.kind) {
    case kStatus: {
      Fault told = fault_of_answer(error);
      if (error.retry_after) told.retry_after = error.retry_after;
      return told;
    }
    case kTimeout:
      return {.code = Code::kDeadlineExceeded, .reason = faults::kTimeout, .message = error.message};
    case kStopped:
      return {.code = Code::kCancelled, .reason = faults::kCancelled, .message = error.message};
    case kRefusedHere:
      return {.code = Code::kInvalidArgument, .reason = faults::kBadRequest, .message = error.message};
    case kTooLarge:
    case kMalformed:
      return {.code = Code::kInternal, .reason = faults::kInternal, .message = error.message};
    default:
      return {.code = Code::kUnavailable, .reason = faults::kServerAway, .message = error.message};
  }
}

Fault own_fault_of(const kube::ApiError& error) {
  Fault own = fault_of(error);
  if (own.code == Code::kDeadlineExceeded || own.code == Code::kCancelled) return own;
  own.code = Code::kUnavailable;
  own.reason = faults::kServerAway;
  return own;
}

Fault fit_for_headers(Fault fault) {
  fault.message = readable(fault.message, kLongestSentence);
  for (auto* violations : {&fault.fields, &fault.quotas, &fault.preconditions}) {
    for (Violation& one : *violations) one.description = readable(one.description, kLongestSentence);
  }
  leave_out_the_last(fault.fields);
  return fault;
}

google::rpc::Status status_of(const Fault& fault) {
  google::rpc::Status status;
  status.set_code(static_cast<int>(fault.code));
  status.set_message(fault.message);
  google::rpc::ErrorInfo info;
  info.set_reason(fault.reason);
  info.set_domain(controller::kGroup);
  add(info, status);
  google::rpc::BadRequest bad;
  for (const Violation& violation : fault.fields) {
    auto& one = *bad.add_field_violations();
    one.set_field(violation.subject);
    one.set_description(violation.description);
  }
  if (!fault.fields.empty()) add(bad, status);
  google::rpc::QuotaFailure quota;
  for (const Violation& violation : fault.quotas) {
    auto& one = *quota.add_violations();
    one.set_subject(violation.subject);
    one.set_description(violation.description);
  }
  if (!fault.quotas.empty()) add(quota, status);
  google::rpc::PreconditionFailure failed;
  for (const Violation& violation : fault.preconditions) {
    auto& one = *failed.add_violations();
    one.set_type(fault.reason);
    one.set_subject(violation.subject);
    one.set_description(violation.description);
  }
  if (!fault.preconditions.empty()) add(failed, status);
  if (fault.retry_after) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(fault.retry_after->count() / 1000);
    retry.mutable_retry_delay()->set_nanos(static_cast<int>(fault.retry_after->count() % 1000) * 1'000'000);
    add(retry, status);
  }
  return status;
}

}  // namespace caravan::service
