#include "kube/watch/cached_object.h"

#include <boost/json/serialize.hpp>

namespace caravan::kube {

CachedObject::CachedObject(const Json& object) : is_being_deleted_(kube::is_being_deleted(object)) {
  const ObjectKey key = key_of(object);
  const std::array<std::string, kFields> fields{key.name_space,
                                                key.name,
                                                uid_of(object),
                                                version_of(object),
                                                controller_uid_of(object),
                                                boost::json::serialize(object)};
  std::size_t size = 0;
  for (const std::string& field : fields) size += field.size();
  fields_.reserve(size);
  for (std::size_t i = 0; i < kFields; ++i) {
    fields_ += fields[i];
    ends_[i] = static_cast<std::uint32_t>(fields_.size());
  }
}

Json CachedObject::parse() const {
  return parse_json(text(), "an object of the cache").value();
}

}  // namespace caravan::kube
