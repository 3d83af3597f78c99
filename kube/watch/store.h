// The local copy of one resource: objects by key and by the namespace and UID of their controller.
//
// Objects are immutable and shared, so that readers keep what they read without a lock. Every mutation
// returns what it changed; an object that was replaced by another of the same name is reported as gone and
// then as new. Safe to use from several threads.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kube/watch/cached_object.h"

namespace caravan::kube {

struct Change {
  ObjectPtr before;   // null: new
  ObjectPtr after;    // null: gone
  bool more = false;  // of the same version follow: a list, or an object that was replaced by another
};

class Store {
 public:
  // A list comes in pages and takes effect as a whole: objects are set aside, and take the place of all that
  // the store holds with replace(). One that did not change is not held twice meanwhile.
  void set_aside(const Json& item);
  void drop_set_aside();
  // What was not set aside is gone: a deletion that nobody saw happens here.
  std::vector<Change> replace(std::string resource_version);
  std::vector<Change> replace(const JsonArray& items, std::string resource_version);
  std::vector<Change> upsert(const Json& object);
  std::vector<Change> remove(const Json& object);
  void advance(std::string resource_version);

  ObjectPtr get(const ObjectKey& key) const;  // null when absent
  // An owner stands in the namespace of what it owns; a UID in a reference alone is no proof.
  std::vector<ObjectPtr> owned_by(const std::string& name_space, const std::string& controller_uid) const;
  std::vector<ObjectPtr> all() const;
  std::size_t size() const;
  // Everything up to this version has been seen.
  std::string resource_version() const;

 private:
  struct ByKey {
    using is_transparent = void;
    using Key = std::tuple<std::string_view, std::string_view>;  // namespace, name
    static Key of(const ObjectPtr& object) { return {object->name_space(), object->name()}; }
    static Key of(const Key& key) { return key; }
    bool operator()(const auto& left, const auto& right) const { return of(left) < of(right); }
  };
  struct ByController {
    using is_transparent = void;
    using Key =
        std::tuple<std::string_view, std::string_view, std::string_view>;  // namespace, controller, name
    static Key of(const ObjectPtr& object) {
      return {object->name_space(), object->controller_uid(), object->name()};
    }
    static Key of(const Key& key) { return key; }
    bool operator()(const auto& left, const auto& right) const { return of(left) < of(right); }
  };

  ObjectPtr find(const ByKey::Key& key) const;
  void put(const ObjectPtr& object, std::vector<Change>& changes);
  void take_out(const ObjectPtr& object, std::vector<Change>& changes);

  mutable std::mutex mutex_;
  std::set<ObjectPtr, ByKey> objects_;
  std::set<ObjectPtr, ByController> owned_;
  std::vector<ObjectPtr> set_aside_;
  std::string resource_version_;
};

}  // namespace caravan::kube
