#include "kube/watch/change_filter.h"

#include <gtest/gtest.h>

namespace caravan::kube {
namespace {

ObjectPtr job(const std::string& more_metadata, const std::string& status = "{}") {
  const std::string text =
      R"({"metadata":{"name":"j","uid":"1","generation":1)" + more_metadata + R"(},"status":)" + status + "}";
  return std::make_shared<const CachedObject>(parse_json(text, "a job").value());
}

TEST(ChangeFilter, OurOwnStatusWriteIsNoReasonToReconcile) {
  EXPECT_FALSE(is_more_than_status(
      {.before = job(R"(,"resourceVersion":"7")"), .after = job(R"(,"resourceVersion":"8")", R"({"a":1})")}));
}

TEST(ChangeFilter, WhatAsksForSomethingPasses) {
  for (const char* metadata : {
           R"(,"generation":2)",
           R"(,"uid":"2")",
           R"(,"deletionTimestamp":"2030-01-01T00:00:00Z")",
           R"(,"finalizers":["x"])",
           R"(,"labels":{"a":"b"})",
           R"(,"annotations":{"a":"b"})",
       }) {
    EXPECT_TRUE(is_more_than_status({.before = job(""), .after = job(metadata)})) << metadata;
    EXPECT_TRUE(is_more_than_status({.before = job(metadata), .after = job("")})) << metadata;
  }
}

TEST(ChangeFilter, ComingAndGoingPass) {
  EXPECT_TRUE(is_more_than_status({.before = nullptr, .after = job("")}));
  EXPECT_TRUE(is_more_than_status({.before = job(""), .after = nullptr}));
}

}  // namespace
}  // namespace caravan::kube
