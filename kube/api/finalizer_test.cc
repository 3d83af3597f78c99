#include "kube/api/finalizer.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace caravan::kube {
namespace {

Json object_with(const std::string& metadata) {
  return parse_json(R"({"metadata":)" + metadata + "}", "an object").value();
}

std::string text(const std::optional<JsonArray>& patch) {
  return patch ? boost::json::serialize(*patch) : "nothing";
}

TEST(Finalizer, IsAddedOnlyWhereNothingHasChangedMeanwhile) {
  EXPECT_EQ(text(patch_to_add_finalizer(object_with("{}"), "a/b")),
            R"([{"op":"test","path":"/metadata/finalizers","value":null},)"
            R"({"op":"add","path":"/metadata/finalizers","value":["a/b"]}])");
  EXPECT_EQ(text(patch_to_add_finalizer(object_with(R"({"finalizers":["x"]})"), "a/b")),
            R"([{"op":"test","path":"/metadata/finalizers","value":["x"]},)"
            R"({"op":"add","path":"/metadata/finalizers/-","value":"a/b"}])");
}

TEST(Finalizer, IsNotAddedTwiceNorToWhatIsBeingDeleted) {
  EXPECT_EQ(text(patch_to_add_finalizer(object_with(R"({"finalizers":["a/b"]})"), "a/b")), "nothing");
  EXPECT_EQ(
      text(patch_to_add_finalizer(object_with(R"({"deletionTimestamp":"2030-01-01T00:00:00Z"})"), "a/b")),
      "nothing");
}

TEST(Finalizer, ItsRemovalTestsThatItIsStillInItsPlace) {
  EXPECT_EQ(text(patch_to_remove_finalizer(object_with(R"({"finalizers":["x","a/b"]})"), "a/b")),
            R"([{"op":"test","path":"/metadata/finalizers/1","value":"a/b"},)"
            R"({"op":"remove","path":"/metadata/finalizers/1"}])");
  EXPECT_EQ(text(patch_to_remove_finalizer(object_with(R"({"finalizers":["x"]})"), "a/b")), "nothing");
  EXPECT_EQ(text(patch_to_remove_finalizer(object_with("{}"), "a/b")), "nothing");
}

}  // namespace
}  // namespace caravan::kube
