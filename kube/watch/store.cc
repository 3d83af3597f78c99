#include "kube/watch/store.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace caravan::kube {

namespace {

std::vector<Change> all_of_one_version(std::vector<Change> changes) {
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) changes[i].more = true;
  return changes;
}

}  // namespace

void Store::set_aside(const Json& item) {
  auto object = std::make_shared<const CachedObject>(item);
  const std::lock_guard guard(mutex_);
  const ObjectPtr known = find(ByKey::of(object));
  const bool is_known = known && known->uid() == object->uid() && known->version() == object->version();
  set_aside_.push_back(is_known ? known : object);
}

void Store::drop_set_aside() {
  const std::lock_guard guard(mutex_);
  set_aside_ = {};
}

std::vector<Change> Store::replace(std::string resource_version) {
  const std::lock_guard guard(mutex_);
  std::vector<ObjectPtr> listed = std::exchange(set_aside_, {});
  std::sort(listed.begin(), listed.end(), ByKey());
  std::vector<ObjectPtr> gone;
  std::set_difference(objects_.begin(), objects_.end(), listed.begin(), listed.end(),
                      std::back_inserter(gone), ByKey());
  std::vector<Change> changes;
  for (const ObjectPtr& object : gone) take_out(object, changes);
  for (const ObjectPtr& object : listed) put(object, changes);
  resource_version_ = std::move(resource_version);
  return all_of_one_version(std::move(changes));
}

std::vector<Change> Store::replace(const JsonArray& items, std::string resource_version) {
  drop_set_aside();
  for (const Json& item : items) set_aside(item);
  return replace(std::move(resource_version));
}

std::vector<Change> Store::upsert(const Json& object) {
  auto cached = std::make_shared<const CachedObject>(object);
  const std::lock_guard guard(mutex_);
  std::vector<Change> changes;
  resource_version_ = cached->version();
  put(cached, changes);
  return all_of_one_version(std::move(changes));
}

std::vector<Change> Store::remove(const Json& object) {
  const std::lock_guard guard(mutex_);
  std::vector<Change> changes;
  resource_version_ = version_of(object);
  const ObjectKey key = key_of(object);
  if (const ObjectPtr known = find({key.name_space, key.name})) take_out(known, changes);
  return changes;
}

void Store::advance(std::string resource_version) {
  const std::lock_guard guard(mutex_);
  resource_version_ = std::move(resource_version);
}

ObjectPtr Store::get(const ObjectKey& key) const {
  const std::lock_guard guard(mutex_);
  return find({key.name_space, key.name});
}

std::vector<ObjectPtr> Store::owned_by(const std::string& name_space,
                                       const std::string& controller_uid) const {
  const std::lock_guard guard(mutex_);
  std::vector<ObjectPtr> owned;
  auto at = owned_.lower_bound(ByController::Key{name_space, controller_uid, ""});
  for (; at != owned_.end(); ++at) {
    if ((*at)->name_space() != name_space || (*at)->controller_uid() != controller_uid) break;
    owned.push_back(*at);
  }
  return owned;
}

std::vector<ObjectPtr> Store::all() const {
  const std::lock_guard guard(mutex_);
  return {objects_.begin(), objects_.end()};
}

std::size_t Store::size() const {
  const std::lock_guard guard(mutex_);
  return objects_.size();
}

std::string Store::resource_version() const {
  const std::lock_guard guard(mutex_);
  return resource_version_;
}

ObjectPtr Store::find(const ByKey::Key& key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : *found;
}

void Store::put(const ObjectPtr& object, std::vector<Change>& changes) {
  ObjectPtr before = find(ByKey::of(object));
  if (before && before->uid() == object->uid()) {
    if (before->version() == object->version()) return;
    owned_.erase(before);
    objects_.erase(before);
  } else if (before) {
    take_out(before, changes);
    before = nullptr;
  }
  objects_.insert(object);
  if (!object->controller_uid().empty()) owned_.insert(object);
  changes.push_back({.before = std::move(before), .after = object});
}

void Store::take_out(const ObjectPtr& object, std::vector<Change>& changes) {
  owned_.erase(object);
  objects_.erase(object);
  changes.push_back({.before = object, .after = nullptr});
}

}  // namespace caravan::kube
