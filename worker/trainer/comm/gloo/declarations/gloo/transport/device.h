#pragma once

#include <memory>

namespace gloo::transport {

class Device;

class UnboundBuffer {
 public:
  ~UnboundBuffer();
};

}  // namespace gloo::transport
