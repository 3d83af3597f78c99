#include "cli/init/annotated_yaml.h"

#include <gtest/gtest.h>

#include "caravan/v1alpha1/job.pb.h"
#include "cli/yaml_reader.h"

namespace caravan::cli {
namespace {

TEST(AnnotatedYaml, PutsTheSchemasWordsAboveEachFieldAndCommentsOutSuggestions) {
  v1alpha1::Training given;
  given.set_steps(100);
  given.mutable_optimizer()->set_learning_rate("3e-3");
  v1alpha1::Training suggested;
  suggested.set_seed(1);
  suggested.set_steps(7);
  suggested.mutable_optimizer()->set_schedule(v1alpha1::Optimizer::Cosine);
  suggested.mutable_evaluation()->set_every_steps(10);
  EXPECT_EQ(annotated_yaml(given, suggested, 4),
            "    # Optimizer steps.\n"
            "    steps: 100\n"
            "    # Initialisation and order of the data.\n"
            "    #seed: 1\n"
            "    optimizer:\n"
            "      # The highest, which the warm-up ends with.\n"
            "      learningRate: \"3e-3\"\n"
            "      # How the rate falls after the warm-up.\n"
            "      #schedule: Cosine\n"
            "    #evaluation:\n"
            "    #  # Validation loss every so many steps; 0 means never.\n"
            "    #  everySteps: 10\n");
}

TEST(AnnotatedYaml, QuotesWhatWouldNotBeText) {
  for (const char* plain : {"train.bin", "/data/kjv.bin", "a-b_c", "llama3.1-8b"})
    EXPECT_EQ(yaml_scalar(plain), plain);
  for (const char* text : {"", "7", "1e3", "yes", "No", "y", "N", "null", "~", "- a", "a: b", "a #b", "*.bin",
                           ".5", "a\"b", "tr\xC3\xA4n.bin", "{a}"}) {
    const auto node = read_yaml("key: " + yaml_scalar(text), "t");
    ASSERT_TRUE(node) << text;
    EXPECT_EQ(node->children.at(0).text, text);
    EXPECT_TRUE(node->children.at(0).quoted) << text;
  }
}

}  // namespace
}  // namespace caravan::cli
