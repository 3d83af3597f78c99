#include "worker/trainer/comm/absent_groups.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace caravan::trainer {
namespace {

class AbsentCommunicator final : public Communicator {
 public:
  explicit AbsentCommunicator(GroupRequest request) : request_(std::move(request)) {}

  int rank() const override { return request_.rank; }
  int size() const override { return request_.size; }

  void all_reduce(at::Tensor& /*tensor*/, Reduction /*reduction*/) override { refuse("all_reduce"); }
  void all_gather(at::Tensor& /*output*/, const at::Tensor& /*input*/) override { refuse("all_gather"); }
  void reduce_scatter(at::Tensor& /*output*/, const at::Tensor& /*input*/) override {
    refuse("reduce_scatter");
  }
  void broadcast(at::Tensor& /*tensor*/, int /*root*/) override { refuse("broadcast"); }
  void barrier() override { refuse("barrier"); }
  std::unique_ptr<PendingTransfer> send(const at::Tensor& /*tensor*/, int /*peer*/, int /*tag*/) override {
    refuse("send");
  }
  std::unique_ptr<PendingTransfer> receive(at::Tensor& /*tensor*/, int /*peer*/, int /*tag*/) override {
    refuse("receive");
  }

 private:
  [[noreturn]] void refuse(const char* operation) const {
    throw CommunicationError(
        fmt::format("{} of group {}: in a dry run no other rank is there", operation, request_.name));
  }

  const GroupRequest request_;
};

}  // namespace

GroupFactory absent_groups() {
  return [](const GroupRequest& request) { return std::make_unique<AbsentCommunicator>(request); };
}

}  // namespace caravan::trainer
