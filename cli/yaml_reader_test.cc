#include "cli/yaml_reader.h"

#include <gmock/gmock.h>

#include <string>

namespace caravan::cli {
namespace {

using schema::find_entry;
using schema::Node;
using schema::NodeKind;
using ::testing::HasSubstr;

Node read(const std::string& text) {
  const Result<Node> node = read_yaml(text, "t");
  EXPECT_TRUE(node) << node.error().message;
  return node.value_or(Node{});
}

std::string error_of(const std::string& text) {
  const Result<Node> node = read_yaml(text, "t");
  return node ? "no error" : node.error().message;
}

TEST(YamlReader, KeepsOrderKindAndLine) {
  const Node root = read("a: 1\nb:\n  - x\n  - {c: \"2\"}\nd:\n");
  ASSERT_EQ(root.kind, NodeKind::kMap);
  ASSERT_EQ(root.children.size(), 3U);
  const Node& a = root.children[0];
  EXPECT_EQ(a.key, "a");
  EXPECT_EQ(a.text, "1");
  EXPECT_FALSE(a.quoted);
  const Node& b = root.children[1];
  EXPECT_EQ(b.kind, NodeKind::kList);
  EXPECT_EQ(b.line, 2) << "an entry stands where its key stands";
  EXPECT_EQ(b.children[1].children[0].line, 4);
  EXPECT_TRUE(b.children[1].children[0].quoted);
  EXPECT_EQ(root.children[2].kind, NodeKind::kNull);
}

TEST(YamlReader, ReadsJson) {
  const Node root = read("{\n\t\"a\": {\"b\": [1, true, null, \"x\\n\\u00e9\\/\"]}\n}\n");
  const Node* b = find_entry(*find_entry(root, "a"), "b");
  ASSERT_NE(b, nullptr);
  ASSERT_EQ(b->children.size(), 4U);
  EXPECT_FALSE(b->children[0].quoted);
  EXPECT_EQ(b->children[2].kind, NodeKind::kNull);
  EXPECT_EQ(b->children[3].text, "x\n\xC3\xA9/");
}

TEST(YamlReader, KeepsEveryKindOfText) {
  const Node root = read("a: 'it''s'\nb: |\n  one\n  two\nc: >-\n  folded\n  text\nd: plain text\n");
  EXPECT_EQ(find_entry(root, "a")->text, "it's");
  EXPECT_EQ(find_entry(root, "b")->text, "one\ntwo\n");
  EXPECT_EQ(find_entry(root, "c")->text, "folded text");
  EXPECT_EQ(find_entry(root, "d")->text, "plain text");
}

TEST(YamlReader, KeepsDuplicateKeysForTheLoaderToReport) {
  EXPECT_EQ(read("a: 1\na: 2\n").children.size(), 2U);
}

TEST(YamlReader, TakesAByteOrderMarkWindowsLinesAndDocumentMarks) {
  EXPECT_EQ(find_entry(read("\xEF\xBB\xBF---\r\na: 1\r\nb: 2\r\n...\r\n"), "b")->text, "2");
}

TEST(YamlReader, SixtyFourLevelsAreTheLimit) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_EQ(read(nested(kMaximumYamlDepth)).kind, NodeKind::kList);
  EXPECT_THAT(error_of(nested(kMaximumYamlDepth + 1)), HasSubstr("deeper than 64"));
}

TEST(YamlReader, OneMebibyteIsTheLimit) {
  const std::string fits = "a: " + std::string(kMaximumYamlBytes - 3, 'x');
  EXPECT_EQ(read(fits).kind, NodeKind::kMap);
  EXPECT_THAT(error_of(fits + "x"), HasSubstr("larger than 1.0 MiB"));
}

TEST(YamlReader, NamesTheLineOfWhatItRefuses) {
  EXPECT_THAT(error_of("a: 1\nb: &x 2\n"), HasSubstr("t:2: anchors"));
  EXPECT_THAT(error_of("a: 1\nb: !!str 2\n"), HasSubstr("t:2: tags"));
  EXPECT_THAT(error_of("a: 1\n---\nb: 2\n"), HasSubstr("t:2: a second document"));
  EXPECT_THAT(error_of("a: 1\n? [b]\n: 2\n"), HasSubstr("t:2: a list or a map"));
  EXPECT_THAT(error_of("a: 'open\nb: 1\n"), HasSubstr("a quote is not closed"));
  EXPECT_THAT(error_of(""), HasSubstr("t: is empty"));
}

TEST(YamlReader, ABadByteOfTheFileIsNotPrinted) {
  for (const char* text : {"a: \"\\\x01\"\n", "a: \"\\\x1b\"\n", "a: \"\\\xc3\xa9\"\n"}) {
    const auto tree = read_yaml(text, "job.yaml");
    ASSERT_FALSE(tree);
    EXPECT_EQ(tree.error().message, "job.yaml:1: not valid YAML: unknown escape character: ?");
  }
}

}  // namespace
}  // namespace caravan::cli
