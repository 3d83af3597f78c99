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
  StreamMark(Event event, std::shared_ptr<Pool> pool) : event_(std::move(event)), pool_(std::move(pool)) {}
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;
  ~StreamMark() override { pool_->push_back(std::move(event_)); }

  cudaEvent_t event() const { return event_.get(); }

 private:
  Event event_;
  std::shared_ptr<Pool> pool_;
};

class StreamMarks final : public DeviceMarks {
 public:
  std::shared_ptr<const DeviceMark> mark() override {
    Event event = take_event();
    require(cudaEventRecord(event.get(), c10::cuda::getCurrentCUDAStream()));
    return std::make_shared<StreamMark>(std::move(event), pool_);
  }

  double seconds_between(const DeviceMark& first, const DeviceMark& second) override {
    const cudaEvent_t begin = dynamic_cast<const StreamMark&>(first).event();
    const cudaEvent_t end = dynamic_cast<const StreamMark&>(second).event();
    require(cudaEventSynchronize(begin));
    require(cudaEventSynchronize(end));
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds / 1e3;
  }

 private:
  Event take_event() {
    if (!pool_->empty()) {
      Event event = std::move(pool_->back());
      pool_->pop_back();
      return event;
    }
    cudaEvent_t made = nullptr;
    require(cudaEventCreate(&made));
    return Event(made);
  }

  const std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();  // of the one thread that trains
};

}  // namespace

std::unique_ptr<DeviceMarks> stream_marks() {
  return std::make_unique<StreamMarks>();
}

}  // namespace caravan::trainer
