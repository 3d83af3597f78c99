#include "kube/api/object.h"

#include <gtest/gtest.h>

#include "kube/api/resource_version.h"

namespace caravan::kube {
namespace {

Json json(std::string_view text) {
  return parse_json(text, "a test's object").value();
}

TEST(Json, ReadsObjectsDeeperThanTheLibrarysDefault) {
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_TRUE(parse_json(deep, "deep"));
}

TEST(Json, ReadsWhatIsAbsentOrOfAnotherTypeAsNothing) {
  const Json object = json(R"({"a":{"b":1}})");
  EXPECT_EQ(text_at(object, {"a", "b"}), "");
  EXPECT_EQ(text_at(object, {"a", "b", "c"}), "");
  EXPECT_EQ(integer_at(object, {"a", "b"}), 1);
  EXPECT_FALSE(integer_at(object, {"x"}));
  EXPECT_TRUE(array_at(object, {"a"}).empty());
  EXPECT_TRUE(array_at(object, {"x"}).empty());
}

TEST(Json, TakesOfAnObjectItsTextsOrSomeOfItsFields) {
  const Json object = json(R"({"metadata":{"labels":{"a":"1","b":2,"c":"3"}}})");
  EXPECT_EQ(texts_at(object, {"metadata", "labels"}),
            (std::map<std::string, std::string>{{"a", "1"}, {"c", "3"}}));
  EXPECT_EQ(fields_of(object, {"metadata", "labels"}, {"b", "c", "d"}), (JsonObject{{"b", 2}, {"c", "3"}}));
  EXPECT_TRUE(texts_at(object, {"metadata", "annotations"}).empty());
  EXPECT_TRUE(fields_of(object, {"metadata", "annotations"}, {"a"}).empty());
}

TEST(Json, FindsAConditionByItsType) {
  const Json status = json(R"({"conditions":[{"type":"Ready"},{"type":"Late","status":"True"}]})");
  const JsonArray& conditions = array_at(status, {"conditions"});
  EXPECT_EQ(find_condition(conditions, "Late"), &conditions[1]);
  EXPECT_EQ(find_condition(conditions, "Gone"), nullptr);
}

TEST(Json, NamesWhatCannotBeParsed) {
  EXPECT_EQ(parse_json("{", "the answer").error().message.find("the answer is no JSON"), 0U);
}

TEST(Object, TheControllerIsTheOwnerThatSaysSo) {
  EXPECT_EQ(controller_uid_of(
                json(R"({"metadata":{"ownerReferences":[{"uid":"a"},{"uid":"b","controller":true}]}})")),
            "b");
  EXPECT_EQ(controller_uid_of(json(R"({"metadata":{"ownerReferences":[{"uid":"a"}]}})")), "");
  EXPECT_EQ(controller_uid_of(json("{}")), "");
}

TEST(Object, AnObjectOfAnOwnerThatWasRecreatedIsForeign) {
  const Json owner = json(R"({"apiVersion":"v1","kind":"Job","metadata":{"name":"j","uid":"new"}})");
  const Json old_child = json(R"({"metadata":{"ownerReferences":[{"uid":"old","controller":true}]}})");
  EXPECT_EQ(ownership_of(old_child, uid_of(owner)), Ownership::kForeign);
  const Json child =
      JsonObject{{"metadata", JsonObject{{"ownerReferences", JsonArray{controller_reference(owner)}}}}};
  EXPECT_EQ(ownership_of(child, uid_of(owner)), Ownership::kOurs);
}

TEST(Object, AChildNamesTheOwnerToWorkOn) {
  const Json child = json(
      R"({"metadata":{"namespace":"s","ownerReferences":[{"kind":"Job","name":"j","uid":"1","controller":true}]}})");
  EXPECT_EQ(controller_key_of(child, "Job"), (ObjectKey{"s", "j"}));
  EXPECT_FALSE(controller_key_of(child, "ReplicaSet"));
  EXPECT_FALSE(controller_key_of(json("{}"), "Job"));
}

TEST(Object, WithoutAnOwnerNothingIsOurs) {
  EXPECT_EQ(ownership_of(json("{}"), ""), Ownership::kForeign);
}

TEST(Object, DropsManagedFieldsAndNothingElse) {
  EXPECT_EQ(without_managed_fields(json(R"({"metadata":{"name":"x","managedFields":[{}]},"spec":1})")),
            json(R"({"metadata":{"name":"x"},"spec":1})"));
}

TEST(ResourceVersion, OrdersNumbersOfAnyLength) {
  EXPECT_TRUE(compare_versions("9", "10") < 0);
  EXPECT_TRUE(compare_versions("99999999999999999999999999", "99999999999999999999999998") > 0);
  EXPECT_TRUE(compare_versions("7", "7") == 0);
  EXPECT_TRUE(compare_versions("", "1") < 0);
}

}  // namespace
}  // namespace caravan::kube
