#include "checkpoint/folder/export.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "checkpoint/folder/copied_file.h"
#include "checkpoint/folder/weights_difference.h"
#include "checkpoint/format/names.h"
#include "checkpoint/testing/faulty_volume.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/temporary_folder.h"

namespace caravan::checkpoint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kStep = 3;

class Export : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(testing::write_tiny(*volume_, kStep)); }

  Status write(const ExportRequest& request) {
    auto from = Checkpoint::open(*volume_, kStep);
    if (!from) return tl::unexpected(from.error());
    return export_weights(*from, *volume_, request);
  }

  std::string path(const std::string& name) const { return files_.path("all/" + name); }
  std::string step(const std::string& name) const { return path("step-000003/" + name); }

  std::vector<std::string> names(const std::string& folder) const { return volume_->names(folder).value(); }

  std::vector<TensorDifference> differences(const std::string& first, const std::string& second) const {
    auto one = WeightsFolder::open(path(first)).value();
    auto other = WeightsFolder::open(path(second)).value();
    return compare_weights(one, other).value();
  }

  const test::TemporaryFolder files_;
  const std::unique_ptr<Volume> volume_ = make_volume(files_.path("all")).value();
};

TEST_F(Export, IsByteForByteWhatTheCheckpointHas) {
  const Status written = write({.folder = "out",
                                .type = ElementType::F32,
                                .tokenizer = {{.name = "tokenizer.json", .text = "{\"model\": 1}"}}});
  ASSERT_TRUE(written) << written.error().message;
  int weights = 0;
  for (const std::string& name : names("out")) {
    if (name == "tokenizer.json") {
      EXPECT_EQ(test::contents(path("out/" + name)), "{\"model\": 1}");
      continue;
    }
    EXPECT_TRUE(test::contents(path("out/" + name)) == test::contents(step(name))) << name;
    weights += name.ends_with(".safetensors") ? 1 : 0;
  }
  EXPECT_GT(weights, 1);
  EXPECT_THAT(differences("out", "step-000003"), IsEmpty());
  EXPECT_THAT(names("out"), ::testing::Not(::testing::Contains(HasSubstr("moment"))));
  EXPECT_THAT(names(""), ElementsAre("out", "step-000003"));
}

TEST_F(Export, IsRoundedToTheTypeThatIsAskedFor) {
  ASSERT_TRUE(write({.folder = "out", .type = ElementType::BF16}));
  auto out = WeightsFolder::open(path("out")).value();
  std::vector<float> values(3);
  const auto bytes = std::as_writable_bytes(std::span(values));
  ASSERT_TRUE(out.read("model.embed_tokens.weight", 0, ElementType::F32, bytes));
  // 3000, and so many parts of 1024, in steps of 16.
  EXPECT_THAT(values, ElementsAre(3008, 3008, 3008));
  EXPECT_THAT(test::contents(path("out/config.json")), HasSubstr("\"torch_dtype\": \"bfloat16\""));
  const auto found = differences("out", "step-000003");
  ASSERT_FALSE(found.empty());
  EXPECT_LE(found[0].largest, 8);
}

TEST_F(Export, NeverReplaces) {
  ASSERT_TRUE(write({.folder = "out", .type = ElementType::F32}));
  EXPECT_THAT(differences("out", "step-000003"), IsEmpty());
  const Status again = write({.folder = "out", .type = ElementType::F32});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ExitCode::kBadInput);
  EXPECT_THAT(again.error().message, HasSubstr("out: is there already; give another name"));
}

TEST_F(Export, WhatAnotherOneLeftIsNamedAndStays) {
  EXPECT_THAT(unfinished_exports(*volume_, "out").value(), IsEmpty());
  for (const char* left : {"out.unfinished-1", "out.unfinished", "outer.unfinished-1"})
    files_.write("all/" + std::string(left) + "/model.safetensors", "half");
  ASSERT_TRUE(write({.folder = "out", .type = ElementType::F32}));
  EXPECT_THAT(unfinished_exports(*volume_, "out").value(), ElementsAre("out.unfinished-1"));
  EXPECT_EQ(test::contents(path("out.unfinished-1/model.safetensors")), "half");
}

// One begins when the other has written so much, and ends or is killed.
TEST_F(Export, OfTwoToOneNameOneGetsItWhole) {
  const auto write_to = [this](Volume& volume) {
    auto from = Checkpoint::open(*volume_, kStep).value();
    return export_weights(from, volume, {.folder = "out", .type = ElementType::F32});
  };
  for (const bool is_killed : {false, true}) {
    for (std::size_t place = 1;; ++place) {
      testing::FaultyVolume one(*volume_);
      testing::FaultyVolume other(*volume_);
      other.fails_from_then_on = true;
      if (is_killed) other.fails_at = 3;
      one.before = [&] {
        if (one.operations().size() == place) (void)write_to(other);
      };
      (void)write_to(one);
      ASSERT_THAT(differences("out", "step-000003"), IsEmpty()) << place;
      if (one.operations().size() <= place) break;
      fs::remove_all(path("out"));
    }
    fs::remove_all(path("out"));
  }
}

TEST_F(Export, MayNameOtherTokensThatEndATextThanTheCheckpoint) {
  ASSERT_TRUE(write({.folder = "out", .type = ElementType::F32, .eos_tokens = {7}}));
  EXPECT_THAT(test::contents(path("out/config.json")), HasSubstr("\"eos_token_id\": 7"));
}

TEST_F(Export, NamesOfCheckpointsAreNotForOtherFolders) {
  for (const char* name : {"step-000007", "step-000007.tmp-1"}) {
    const Status written = write({.folder = name, .type = ElementType::F32});
    ASSERT_FALSE(written) << name;
    EXPECT_THAT(written.error().message, HasSubstr(": only checkpoints have such a name"));
  }
  EXPECT_THAT(names(""), ElementsAre("step-000003"));
}

// A model's folder comes from anybody, and what is taken of it may be published.
TEST(Tokenizer, IsAllThatTheFolderHasOfIt) {
  const test::TemporaryFolder files;
  EXPECT_THAT(read_tokenizer(files.path().string()).value(), IsEmpty());
  files.write("model.safetensors", "no");
  files.write("secrets.json", "{}");
  files.write("real", "{\"model\": 1}");
  fs::create_symlink("real", files.path("tokenizer.json"));
  files.write("generation_config.json", "{}");
  EXPECT_THAT(read_tokenizer(files.path().string()).value(),
              ElementsAre(CopiedFile{"tokenizer.json", "{\"model\": 1}"},
                          CopiedFile{"generation_config.json", "{}"}));
}

TEST(Tokenizer, LinksToElsewhereAreRefused) {
  const test::TemporaryFolder files;
  files.write("secret/key", "{\"secret\": 1}");
  for (const auto& [name, target] : {std::pair("tokenizer.json", "../secret/key"),
                                     {"tokenizer_config.json", "folder/key"},
                                     {"merges.txt", "/dev/zero"}}) {
    fs::remove_all(files.path("model"));
    fs::create_directories(files.path("model"));
    fs::create_symlink("../secret", files.path("model/folder"));
    fs::create_symlink(target, files.path("model/" + std::string(name)));
    const auto read = read_tokenizer(files.path("model"));
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().code, ExitCode::kBadInput);
    EXPECT_THAT(read.error().message, HasSubstr(std::string(name) + ": is a link to"));
    EXPECT_THAT(read.error().message, HasSubstr("which is not in that folder"));
  }
  fs::remove(files.path("model/merges.txt"));
  fs::create_symlink("nowhere", files.path("model/vocab.json"));
  EXPECT_THAT(read_tokenizer(files.path("model")).error().message, HasSubstr("vocab.json: cannot open"));
}

TEST(Tokenizer, AllOfItIsBounded) {
  const test::TemporaryFolder files;
  for (const char* name : {"tokenizer.model", "merges.txt"}) {
    files.write(name, "");
    fs::resize_file(files.path(name), kLargestTokenizer / 2);
  }
  EXPECT_EQ(read_tokenizer(files.path().string()).value().size(), 2u);
  files.write("chat_template.jinja", "{");
  EXPECT_THAT(read_tokenizer(files.path().string()).error().message,
              HasSubstr("chat_template.jinja: has 1 bytes, there may be 0 at most"));
}

// models--x/snapshots/REVISION/tokenizer.json -> ../../blobs/SUM
TEST_F(Export, LinksOfACacheAreFollowed) {
  files_.write("cache/blobs/1234", "{}");
  files_.write("cache/other", "{}");
  const std::string snapshot = files_.path("cache/snapshots/main");
  fs::create_directories(snapshot);
  fs::create_symlink("../../blobs/1234", snapshot + "/tokenizer.json");
  fs::create_symlink("../../other", snapshot + "/vocab.json");
  EXPECT_EQ(read_copied_file(snapshot, "tokenizer.json").value(), "{}");
  EXPECT_FALSE(read_copied_file(snapshot, "vocab.json"));
  fs::create_directory_symlink("snapshots/main", files_.path("cache/link"));
  EXPECT_TRUE(read_copied_file(files_.path("cache/link"), "tokenizer.json")) << "the user named it";
  fs::rename(files_.path("cache/snapshots"), files_.path("cache/folders"));
  EXPECT_FALSE(read_copied_file(files_.path("cache/folders/main"), "tokenizer.json"));
}

TEST_F(Export, WhatIsCopiedIsSmallAndJsonWhereItSaysSo) {
  files_.write("model/vocab.json", "-----BEGIN OPENSSH PRIVATE KEY-----");
  EXPECT_THAT(read_copied_file(files_.path("model"), "vocab.json").error().message,
              HasSubstr("model/vocab.json: is no JSON"));
  files_.write("model/merges.txt", "no JSON");
  EXPECT_EQ(read_copied_file(files_.path("model"), "merges.txt").value(), "no JSON");
  fs::resize_file(files_.path("model/merges.txt"), (64 << 20) + 1);
  EXPECT_THAT(read_copied_file(files_.path("model"), "merges.txt").error().message,
              HasSubstr("there may be 67108864 at most"));
  EXPECT_THAT(read_copied_file(files_.path("model"), "nothing.json").error().message,
              HasSubstr("nothing.json: cannot open: No such file or directory"));
}

TEST_F(Export, ADamagedCheckpointIsNotPassedOn) {
  const std::string file = step("model-00001-of-00002.safetensors");
  ASSERT_TRUE(fs::exists(file)) << ::testing::PrintToString(names("step-000003"));
  std::string bytes = test::contents(file);
  bytes[bytes.size() - 7] ^= 1;
  files_.write("all/step-000003/model-00001-of-00002.safetensors", bytes);
  const Status written = write({.folder = "out", .type = ElementType::F32});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("are not those that were written"));
  EXPECT_THAT(names(""), ElementsAre("step-000003"));
}

TEST_F(Export, AnyOperationThatFailsLeavesNoFolderOfThatName) {
  for (std::size_t number = 0;; ++number) {
    testing::FaultyVolume faulty(*volume_);
    faulty.fails_at = number;
    auto from = Checkpoint::open(*volume_, kStep).value();
    const Status written = export_weights(from, faulty, {.folder = "out", .type = ElementType::F32});
    if (faulty.operations().size() <= number) {
      EXPECT_TRUE(written);
      EXPECT_GT(number, 10u);
      return;
    }
    EXPECT_FALSE(written) << faulty.descriptions()[number];
    const bool is_last = faulty.descriptions()[number] == "sync folder ";
    EXPECT_EQ(fs::exists(path("out")), is_last) << faulty.descriptions()[number];
    EXPECT_THAT(unfinished_exports(*volume_, "out").value(), IsEmpty()) << faulty.descriptions()[number];
    if (is_last) fs::remove_all(path("out"));
  }
}

TEST_F(Export, DifferencesAreNamedByTensorAndLargestDistance) {
  ASSERT_TRUE(testing::write_tiny(*volume_, 4));
  const auto found = differences("step-000003", "step-000004");
  EXPECT_EQ(found.size(), tensors_of(testing::tiny_model()).size());
  for (const TensorDifference& each : found) {
    EXPECT_EQ(each.structure, "") << each.tensor;
    EXPECT_EQ(each.different, each.elements) << each.tensor;
    EXPECT_EQ(each.largest, 1000) << each.tensor;
  }
}

TEST_F(Export, TensorsThatAreMissingOrOfAnotherShapeAreDifferences) {
  Header header{
      .tensors =
          {{.name = "model.norm.weight", .type = ElementType::F32, .shape = {2}, .begin = 0, .end = 8}},
      .metadata = {}};
  files_.write("all/other/model.safetensors", header_bytes(header) + std::string(8, '\0'));
  fs::copy_file(step("config.json"), path("other/config.json"));
  const auto found = differences("other", "step-000003");
  for (const TensorDifference& each : found) {
    EXPECT_EQ(each.structure,
              each.tensor == "model.norm.weight" ? "shape [2] and [8]" : "is in the second alone");
  }
  EXPECT_EQ(found.size(), tensors_of(testing::tiny_model()).size());
}

TEST_F(Export, WhatIsNoWeightIsComparedByItsBytes) {
  const auto write_folder = [&](const std::string& folder, ElementType type, int64_t elements,
                                const std::string& bytes) {
    const Header header{
        .tensors = {{.name = "ids", .type = type, .shape = {elements}, .begin = 0, .end = std::ssize(bytes)}},
        .metadata = {}};
    files_.write("all/" + folder + "/model.safetensors", header_bytes(header) + bytes);
    fs::copy_file(step("config.json"), path(folder + "/config.json"));
  };
  write_folder("one", ElementType::I16, 3, "aabbcc");
  write_folder("same", ElementType::I16, 3, "aabbcc");
  write_folder("other", ElementType::I16, 3, "aaxbcc");
  write_folder("narrow", ElementType::I8, 3, "abc");
  EXPECT_THAT(differences("one", "same"), IsEmpty());
  EXPECT_EQ(differences("one", "other").at(0).structure, "1 of 3 I16 elements");
  EXPECT_EQ(differences("one", "narrow").at(0).structure, "I16 and I8");
}

}  // namespace
}  // namespace caravan::checkpoint
