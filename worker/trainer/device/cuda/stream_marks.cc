#include "worker/trainer/device/cuda/stream_marks.h"

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <utility>
#include <vector>

namespace caravan::trainer {
namespace {

void require(cudaError_t error) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string("timing the GPU: ") + cudaGetErrorString(error));
}

struct EventEnd {
  void operator()(cudaEvent_t event) const { (void)cudaEventDestroy(event); }
};
using Event = std::unique_ptr<CUevent_st, EventEnd>;
using Pool = std::vector<Event>;

class StreamMark final : public DeviceMark {
 public:
  StreamMark(Event event, cudaError_t error, std::shared_ptr<Pool> pool)
      : event_(std::move(event)), error_(error), pool_(std::move(pool)) {}
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;
  ~StreamMark() override {
    if (event_) pool_->push_back(std::move(event_));
  }

  // When the device has come to it.
  cudaEvent_t event() const {
    require(error_);
    require(cudaEventSynchronize(event_.get()));
    return event_.get();
  }

 private:
  Event event_;
  const cudaError_t error_;
  std::shared_ptr<Pool> pool_;
};

class StreamMarks final : public DeviceMarks {
 public:
  std::shared_ptr<const DeviceMark> mark() override {
    cudaError_t error = cudaSuccess;
    Event event = take_event(error);
    if (error == cudaSuccess) error = cudaEventRecord(event.get(), c10::cuda::getCurrentCUDAStream());
    return std::make_shared<StreamMark>(std::move(event), error, pool_);
  }

  double seconds_between(const DeviceMark& first, const DeviceMark& second) override {
    const cudaEvent_t begin = dynamic_cast<const StreamMark&>(first).event();
    const cudaEvent_t end = dynamic_cast<const StreamMark&>(second).event();
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds / 1e3;
  }

 private:
  // None where CUDA makes none.
  Event take_event(cudaError_t& error) {
    if (!pool_->empty()) {
      Event event = std::move(pool_->back());
      pool_->pop_back();
      return event;
    }
    cudaEvent_t made = nullptr;
    error = cudaEventCreate(&made);
    return Event(error == cudaSuccess ? made : nullptr);
  }

  const std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();  // of the one thread that trains
};

}  // namespace

std::unique_ptr<DeviceMarks> stream_marks() {
  return std::make_unique<StreamMarks>();
}

}  // namespace caravan::trainer
