#include "cli/cluster/documents.h"

#include <gmock/gmock.h>

#include <boost/json/serialize.hpp>

namespace caravan::cli {
namespace {

kube::Json parsed(const std::string& text) {
  return kube::parse_json(text, "test").value();
}

constexpr const char* kDocument =
    R"({"kind":"List","empty":{},"none":[],"count":3,"yes":"true","text":"a: b","items":[{"name":"a","of":[1,[2,3]]},"b",null]})";

TEST(Documents, AsYamlReadBackTheSame) {
  const std::string text = yaml_text(parsed(kDocument));
  EXPECT_EQ(text,
            "kind: List\n"
            "empty: {}\n"
            "none: []\n"
            "count: 3\n"
            "\"yes\": \"true\"\n"
            "text: \"a: b\"\n"
            "items:\n"
            "- name: a\n"
            "  of:\n"
            "  - 1\n"
            "  - - 2\n"
            "    - 3\n"
            "- b\n"
            "- null\n");
}

TEST(Documents, AsJsonAreIndented) {
  EXPECT_EQ(json_text(parsed(R"({"a":[1,{"b":"c"}],"d":{}})")),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"c\"\n    }\n  ],\n  \"d\": {}\n}\n");
}

TEST(Documents, EscapeWhatATerminalWouldObey) {
  const kube::Json document = parsed(R"({"a\u001b":"\u001b[2J\u007f","b":["\u009b1m"]})");
  EXPECT_EQ(yaml_text(document),
            "\"a\\u001b\": \"\\u001b[2J\\u007f\"\n"
            "b:\n"
            "- \"\\u009b1m\"\n");
  EXPECT_EQ(json_text(document),
            "{\n  \"a\\u001b\": \"\\u001b[2J\\u007f\",\n  \"b\": [\n    \"\\u009b1m\"\n  ]\n}\n");
}

TEST(Documents, OfAKubeconfigKeepNumbersAsTexts) {
  const auto read =
      read_document("users:\n- name: 7\n  user: {token: '007', insecure-skip-tls-verify: true}\n", "c");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(boost::json::serialize(*read),
            R"({"users":[{"name":"7","user":{"token":"007","insecure-skip-tls-verify":true}}]})");
}

}  // namespace
}  // namespace caravan::cli
