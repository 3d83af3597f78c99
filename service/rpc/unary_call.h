// A call with one answer, which some thread gives later. Only for .cc files: this header is heavy.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <stop_token>

namespace caravan::service {

class UnaryCall final : public grpc::ServerUnaryReactor {
 public:
  // gRPC owns it until the call is over, which comes after finish(); until then the request may be read and
  // the response written. on_done: with the code that it ended with.
  static std::shared_ptr<UnaryCall> make(std::function<void(int code)> on_done) {
    std::shared_ptr<UnaryCall> call(new UnaryCall());
    call->self_ = call;
    call->on_done_ = std::move(on_done);
    return call;
  }

  // Once.
  void finish(const grpc::Status& status) {
    code_ = status.error_code();
    Finish(status);
  }
  // Requested when the caller has gone.
  std::stop_token stop() const { return stop_.get_token(); }

 private:
  UnaryCall() = default;

  void OnCancel() override { stop_.request_stop(); }
  void OnDone() override {
    const auto self = std::move(self_);
    on_done_(code_);
  }

  std::shared_ptr<UnaryCall> self_;
  std::stop_source stop_;
  std::function<void(int)> on_done_;
  int code_ = 0;
};

}  // namespace caravan::service
