#include "worker/agent/coordinator_link.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>

#include "caravan/v1alpha1/coordination.grpc.pb.h"
#include "common/bidi_stream.h"
#include "common/rpc_status.h"
#include "worker/agent/channel_arguments.h"

namespace caravan::agent {

using v1alpha1::AgentMessage;
using v1alpha1::CoordinatorMessage;

class CoordinatorLink::AgentStream final
    : public BidiStream<grpc::ClientBidiReactor<AgentMessage, CoordinatorMessage>, AgentMessage,
                        CoordinatorMessage> {
 public:
  AgentStream(const CoordinatorAddress& address, int connection, Mailbox<LinkEvent>& events)
      : connection_(connection), events_(events) {
    grpc::ChannelArguments arguments = base_channel_arguments(address.connect_timeout);
    if (!address.verified_name.empty()) arguments.SetSslTargetNameOverride(address.verified_name);
    channel_ = grpc::CreateCustomChannel(address.where, credentials_of(address), arguments);
    stub_ = v1alpha1::Coordinator::NewStub(channel_);
  }
  ~AgentStream() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
  }

  void start() {
    stub_->async()->Join(&context_, this);
    read_next();
    StartCall();
  }

 private:
  static std::shared_ptr<grpc::ChannelCredentials> credentials_of(const CoordinatorAddress& address) {
    if (!address.identity) return grpc::InsecureChannelCredentials();
    return grpc::SslCredentials({.pem_root_certs = address.identity->authority,
                                 .pem_private_key = address.identity->key,
                                 .pem_cert_chain = address.identity->certificate});
  }

  void received(CoordinatorMessage& message) override {
    events_.post(LinkMessage{connection_, std::move(message)});
  }
  void broken() override {}
  void OnDone(const grpc::Status& status) override {
    events_.post(LinkBroken{connection_, status.ok() ? "it ended the connection" : rpc_status_text(status)});
    const std::scoped_lock lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

  const int connection_;
  Mailbox<LinkEvent>& events_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1alpha1::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
};

CoordinatorLink::CoordinatorLink(CoordinatorAddress address, Mailbox<LinkEvent>& events)
    : address_(std::move(address)), events_(events) {}

CoordinatorLink::~CoordinatorLink() = default;

int CoordinatorLink::connect(const v1alpha1::AgentHello& hello) {
  stream_ = std::make_unique<AgentStream>(address_, ++connection_, events_);
  stream_->start();
  AgentMessage message;
  *message.mutable_hello() = hello;
  stream_->send(std::move(message));
  return connection_;
}

void CoordinatorLink::send(const AgentMessage& message) {
  if (stream_) stream_->send(message);
}

void CoordinatorLink::disconnect() {
  stream_.reset();
}

}  // namespace caravan::agent
