#include "tensorboard/event.h"

#include <bit>
#include <concepts>
#include <cstddef>
#include <span>

#include "checkpoint/format/crc32c.h"

namespace caravan::tensorboard {
namespace {

constexpr std::string_view kVersion = "brain.Event:2";
constexpr uint64_t kSessionStart = 1;  // SessionLog.START

// Numbers of fields of Event, SessionLog, Summary and Summary.Value.
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr uint32_t kStatus = 1;
constexpr uint32_t kValue = 1;
constexpr uint32_t kTag = 1, kSimpleValue = 2;

template <std::unsigned_integral T>
void append_little_endian(T number, std::string& bytes) {
  for (std::size_t byte = 0; byte < sizeof number; ++byte)
    bytes.push_back(static_cast<char>((number >> (8 * byte)) & 0xFF));
}

// A message of protocol buffers, field by field (protobuf.dev/programming-guides/encoding).
class Message {
 public:
  Message& integer(uint32_t field, uint64_t number) {
    key(field, kVarint);
    varint(number);
    return *this;
  }
  Message& fp64(uint32_t field, double number) {
    key(field, kEightBytes);
    append_little_endian(std::bit_cast<uint64_t>(number), bytes_);
    return *this;
  }
  Message& fp32(uint32_t field, float number) {
    key(field, kFourBytes);
    append_little_endian(std::bit_cast<uint32_t>(number), bytes_);
    return *this;
  }
  // Text, or another message.
  Message& bytes(uint32_t field, std::string_view content) {
    key(field, kLength);
    varint(content.size());
    bytes_.append(content);
    return *this;
  }
  const std::string& finish() const { return bytes_; }

 private:
  enum WireType : uint32_t { kVarint = 0, kEightBytes = 1, kLength = 2, kFourBytes = 5 };

  void key(uint32_t field, WireType type) { varint((uint64_t{field} << 3) | type); }
  void varint(uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<char>((number & 0x7F) | 0x80));
    bytes_.push_back(static_cast<char>(number));
  }

  std::string bytes_;
};

// Sums of bytes that hold sums are weak, so they are stored in another form.
uint32_t masked_sum(std::string_view bytes) {
  constexpr uint32_t kMask = 0xA282EAD8;
  return std::rotr(checkpoint::crc32c(std::as_bytes(std::span(bytes))), 15) + kMask;
}

std::string record(std::string_view content) {
  std::string bytes;
  append_little_endian(uint64_t{content.size()}, bytes);
  append_little_endian(masked_sum(bytes), bytes);
  bytes.append(content);
  append_little_endian(masked_sum(content), bytes);
  return bytes;
}

Message event_at(double wall_seconds, int64_t step) {
  Message event;
  event.fp64(kWallTime, wall_seconds).integer(kStep, static_cast<uint64_t>(step));
  return event;
}

}  // namespace

std::string opening_record(double wall_seconds) {
  return record(Message().fp64(kWallTime, wall_seconds).bytes(kFileVersion, kVersion).finish());
}

std::string restart_record(double wall_seconds, int64_t step) {
  const Message log = Message().integer(kStatus, kSessionStart);
  return record(event_at(wall_seconds, step).bytes(kSessionLog, log.finish()).finish());
}

std::string scalars_record(const StepScalars& step) {
  Message summary;
  for (const Scalar& scalar : step.scalars) {
    const Message value =
        Message().bytes(kTag, scalar.tag).fp32(kSimpleValue, static_cast<float>(scalar.value));
    summary.bytes(kValue, value.finish());
  }
  return record(event_at(step.wall_seconds, step.step).bytes(kSummary, summary.finish()).finish());
}

}  // namespace caravan::tensorboard
