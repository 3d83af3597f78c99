#include "operator/controller/node_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace caravan::controller {
namespace {

using ::testing::ElementsAre;

// Each of a version of its own.
kube::Json node(const std::string& name, const std::string& rack) {
  static int version = 0;
  return kube::parse_json(fmt::format(R"({{"metadata": {{"name": "{}", "uid": "{}", "resourceVersion": "{}",
                              "labels": {{"rack": "{}"}}}}}})",
                                      name, name, ++version, rack),
                          "node")
      .value();
}

class NodeReaderTest : public ::testing::Test {
 protected:
  // Whether one of them changes what is read.
  bool show(const std::vector<kube::Change>& changes) {
    bool is_other = false;
    for (const kube::Change& change : changes) is_other = reader_.change(change) || is_other;
    return is_other;
  }
  // "a in r1"
  std::vector<std::string> racks() const {
    std::vector<std::string> racks;
    const SharedNodes nodes = reader_.read(nodes_);
    for (const NodeView& view : *nodes)
      racks.push_back(fmt::format("{} in {}", view.name, view.labels.at("rack")));
    return racks;
  }

  kube::Store nodes_;
  NodeReader reader_;
};

TEST_F(NodeReaderTest, ReadsNodesOnceForAllUntilOneChangesInWhatIsRead) {
  EXPECT_THAT(racks(), ElementsAre());
  EXPECT_TRUE(show(nodes_.upsert(node("b", "r2"))));
  EXPECT_TRUE(show(nodes_.upsert(node("a", "r1"))));
  EXPECT_THAT(racks(), ElementsAre("a in r1", "b in r2"));
  const SharedNodes before = reader_.read(nodes_);
  EXPECT_FALSE(show(nodes_.upsert(node("a", "r1")))) << "only its version is another";
  EXPECT_EQ(reader_.read(nodes_), before);
  EXPECT_TRUE(show(nodes_.upsert(node("a", "r2"))));
  EXPECT_THAT(racks(), ElementsAre("a in r2", "b in r2"));
  EXPECT_TRUE(show(nodes_.remove(node("b", "r2"))));
  EXPECT_THAT(racks(), ElementsAre("a in r2"));
  EXPECT_EQ(before->size(), 2U) << "who holds what was read keeps it";
}

}  // namespace
}  // namespace caravan::controller
