// One object of a cache, kept as text.
//
// Of a tree of JSON values most is pointers and repeated names of fields: as text one of a pod takes a
// quarter. Readers get a tree of their own; what the cache itself asks for can be read without one.
// Immutable.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kube/api/object.h"

namespace caravan::kube {

class CachedObject {
 public:
  explicit CachedObject(const Json& object);

  std::string_view name_space() const { return field(0); }
  std::string_view name() const { return field(1); }
  ObjectKey key() const { return {.name_space = std::string(name_space()), .name = std::string(name())}; }
  std::string_view uid() const { return field(2); }
  std::string_view version() const { return field(3); }
  std::string_view controller_uid() const { return field(4); }  // empty when no owner is its controller
  bool is_being_deleted() const { return is_being_deleted_; }

  Json parse() const;
  std::string_view text() const { return field(5); }

 private:
  static constexpr std::size_t kFields = 6;

  std::string_view field(std::size_t index) const {
    const std::size_t start = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(fields_).substr(start, ends_[index] - start);
  }

  std::string fields_;  // one after another, in one piece of memory
  std::array<std::uint32_t, kFields> ends_{};
  bool is_being_deleted_;
};

using ObjectPtr = std::shared_ptr<const CachedObject>;

}  // namespace caravan::kube
