#include "kube/watch/store.h"

#include <utility>

namespace caravan::kube {

std::vector<Change> Store::replace(JsonArray items, std::string resource_version) {
  const std::lock_guard guard(mutex_);
  std::vector<Change> changes;
  std::set<ObjectKey> listed;
  for (const Json& item : items) listed.insert(key_of(item));
  std::vector<ObjectKey> gone;
  for (const auto& [key, object] : objects_) {
    if (!listed.contains(key)) gone.push_back(key);
  }
  for (const ObjectKey& key : gone) take_out(key, changes);
  for (Json& item : items) put(std::make_shared<const Json>(std::move(item)), changes);
  resource_version_ = std::move(resource_version);
  return changes;
}

std::vector<Change> Store::upsert(Json object) {
  const std::lock_guard guard(mutex_);
  std::vector<Change> changes;
  resource_version_ = version_of(object);
  put(std::make_shared<const Json>(std::move(object)), changes);
  return changes;
}

std::vector<Change> Store::remove(const Json& object) {
  const std::lock_guard guard(mutex_);
  std::vector<Change> changes;
  resource_version_ = version_of(object);
  take_out(key_of(object), changes);
  return changes;
}

void Store::advance(std::string resource_version) {
  const std::lock_guard guard(mutex_);
  resource_version_ = std::move(resource_version);
}

ObjectPtr Store::get(const ObjectKey& key) const {
  const std::lock_guard guard(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> Store::owned_by(const std::string& controller_uid) const {
  const std::lock_guard guard(mutex_);
  std::vector<ObjectPtr> owned;
  const auto keys = keys_by_controller_.find(controller_uid);
  if (keys == keys_by_controller_.end()) return owned;
  for (const ObjectKey& key : keys->second) owned.push_back(objects_.at(key));
  return owned;
}

std::vector<ObjectPtr> Store::all() const {
  const std::lock_guard guard(mutex_);
  std::vector<ObjectPtr> every;
  every.reserve(objects_.size());
  for (const auto& [key, object] : objects_) every.push_back(object);
  return every;
}

std::size_t Store::size() const {
  const std::lock_guard guard(mutex_);
  return objects_.size();
}

std::string Store::resource_version() const {
  const std::lock_guard guard(mutex_);
  return resource_version_;
}

void Store::put(ObjectPtr object, std::vector<Change>& changes) {
  const ObjectKey key = key_of(*object);
  const auto known = objects_.find(key);
  ObjectPtr before;
  if (known != objects_.end()) {
    before = known->second;
    const bool same_object = uid_of(*before) == uid_of(*object);
    if (same_object && version_of(*before) == version_of(*object)) return;
    if (same_object) {
      unindex(before);
    } else {
      take_out(key, changes);
      before = nullptr;
    }
  }
  if (const std::string owner = controller_uid_of(*object); !owner.empty())
    keys_by_controller_[owner].insert(key);
  objects_[key] = object;
  changes.push_back({.before = std::move(before), .after = std::move(object)});
}

void Store::take_out(const ObjectKey& key, std::vector<Change>& changes) {
  const auto known = objects_.find(key);
  if (known == objects_.end()) return;
  unindex(known->second);
  changes.push_back({.before = known->second, .after = nullptr});
  objects_.erase(known);
}

void Store::unindex(const ObjectPtr& object) {
  const auto keys = keys_by_controller_.find(controller_uid_of(*object));
  if (keys == keys_by_controller_.end()) return;
  keys->second.erase(key_of(*object));
  if (keys->second.empty()) keys_by_controller_.erase(keys);
}

}  // namespace caravan::kube
