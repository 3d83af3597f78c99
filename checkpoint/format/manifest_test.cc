#include "checkpoint/format/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>
#include <utility>

#include "checkpoint/format/crc32c.h"
#include "checkpoint/testing/tiny_checkpoint.h"
#include "common/testing/checkout.h"
#include "common/testing/sample.h"
#include "common/testing/temporary_folder.h"
#include "common/testing/turn.h"

namespace caravan::checkpoint {
namespace {

using ::testing::HasSubstr;
using testing::write_tiny;
using v1alpha1::CheckpointManifest;

std::string good_text() {
  const test::TemporaryFolder folder;
  const auto volume = open_volume(folder.path().string()).value();
  EXPECT_TRUE(write_tiny(*volume, 5));
  return test::contents(folder.path() / "step-000005/manifest.json");
}

// As the first versions with that format wrote it; never made anew.
std::string text_of_format(int format) {
  return test::contents(test::source_folder() + "/checkpoint/format/testdata/format_" +
                        std::to_string(format) + ".json");
}

// As a version writes it whose manifest is that without the sum.
std::string sealed(const std::string& rest) {
  const std::string sum = sum_text(crc32c(std::as_bytes(std::span(rest))));
  std::string text = rest;
  text.insert(text.find(',') + 1, "\"crc32c\":\"" + sum + "\",");
  return text + "\n";
}

// With another text in place of a part of it, and the sum that belongs to it then.
std::string with_change(const std::string& text, const std::string& from, const std::string& to) {
  std::string rest = text.substr(0, text.size() - 1);
  const std::string sum = "\"crc32c\":\"" + parse_manifest(text).value().crc32c() + "\",";
  for (const auto& [part, other] : {std::pair(sum, std::string()), std::pair(from, to)}) {
    EXPECT_NE(rest.find(part), std::string::npos) << part;
    rest.replace(rest.find(part), part.size(), other);
  }
  return sealed(rest);
}

TEST(Manifest, ReadsWhatItWrites) {
  const std::string text = good_text();
  const auto manifest = parse_manifest(text);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest_text(*manifest), text);
  EXPECT_EQ(state_of(*manifest), testing::tiny_request(5).state);
  EXPECT_EQ(manifest->layout().data(), 2);
  EXPECT_EQ(manifest->tensors(0).boxes_size(), 1) << "however many ranks wrote it";
}

TEST(Manifest, ThoseOfEarlierVersionsAreRead) {
  for (const int format : {1, 2}) {
    const auto manifest = parse_manifest(text_of_format(format));
    ASSERT_TRUE(manifest) << manifest.error().message;
    EXPECT_EQ(manifest->format(), format);
    EXPECT_EQ(state_of(*manifest), (TrainingState{.step = 3, .updates = 3, .samples = 6}));
    EXPECT_EQ(manifest->layout().tensor(), 2);
    EXPECT_EQ(manifest->tensors(0).boxes_size(), 2) << "one of each rank";
    EXPECT_EQ(moments_type_of(manifest->tensors(0)), format == 1 ? "F32" : "BF16");
  }
}

// That has fewer fields or more, and the same format.
TEST(Manifest, ThatOfAVersionWithOtherFieldsIsRead) {
  const std::string text = text_of_format(1);
  for (const auto& [from, to] :
       {std::pair(",\"hostSnapshotBytes\":0", ""), std::pair("\"run\":", "\"later\":[{\"a\":1}],\"run\":"),
        std::pair("\"step\":3,", "\"step\":3,\"later\":0,"), std::pair("\"Never\"", "\"Sometimes\"")}) {
    const std::string other = with_change(text, from, to);
    const auto manifest = parse_manifest(other);
    ASSERT_TRUE(manifest) << from << " is " << to << ": " << manifest.error().message;
    EXPECT_EQ(state_of(*manifest).step, 3);
    std::string damaged = other;
    damaged[damaged.find("golden")] = 'G';
    EXPECT_THAT(parse_manifest(damaged).error().message, HasSubstr("crc32c: is not the sum"));
  }
}

struct Forged {
  std::string says;
  std::function<void(CheckpointManifest&)> forge;
};

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

const Forged kForged[] = {
    {"progress.step", [](auto& m) { m.mutable_progress()->set_step(0); }},
    {"progress.step", [](auto& m) { m.mutable_progress()->set_step(-5); }},
    {"progress.updates", [](auto& m) { m.mutable_progress()->set_updates(6); }},
    {"progress.samples", [](auto& m) { m.mutable_progress()->set_samples(-1); }},
    {"training", [](auto& m) { m.mutable_training()->set_sequence_length(0); }},
    {"blockBytes", [](auto& m) { m.set_block_bytes(0); }},
    {"blockBytes", [](auto& m) { m.set_block_bytes(kMost); }},
    {"largestFileBytes", [](auto& m) { m.set_largest_file_bytes(-1); }},
    {"files: '../x': is no name", [](auto& m) { m.mutable_files(0)->set_name("../x"); }},
    {"files: '/etc/passwd': is no name", [](auto& m) { m.mutable_files(0)->set_name("/etc/passwd"); }},
    {"files: '..': is no name", [](auto& m) { m.mutable_files(0)->set_name(".."); }},
    {"files: '': is no name", [](auto& m) { m.mutable_files(0)->clear_name(); }},
    {"files: 'manifest.json'", [](auto& m) { m.mutable_files(0)->set_name("manifest.json"); }},
    {"stands there twice", [](auto& m) { *m.add_files() = m.files(0); }},
    {"length must not be below 0", [](auto& m) { m.mutable_files(0)->set_length(-1); }},
    {"a sum for each block", [](auto& m) { m.mutable_files(0)->set_length(kMost); }},
    {"eight hexadecimal digits", [](auto& m) { m.mutable_files(0)->set_blocks("0123456x"); }},
    {"is not what the sums of its blocks make", [](auto& m) { m.mutable_files(0)->set_crc32c("00000000"); }},
    {"is missing", [](auto& m) { m.mutable_files(0)->set_name("other"); }},
    {"its tensors take",
     [](auto& m) {
       const std::string name = m.files(0).name();
       m.mutable_files(0)->set_name(m.files(1).name());
       m.mutable_files(1)->set_name(name);
     }},
    {"there must be some", [](auto& m) { m.clear_tensors(); }},
    {"stands there twice", [](auto& m) { *m.add_tensors() = m.tensors(0); }},
    {"one or two sizes", [](auto& m) { m.mutable_tensors(0)->add_shape(1); }},
    {"shape is larger", [](auto& m) { m.mutable_tensors(0)->set_shape(0, kMost); }},
    {"shape is larger", [](auto& m) { m.mutable_tensors(0)->set_shape(0, -1); }},
    {"must be F64, F32, F16 or BF16; one is 'F33'",
     [](auto& m) { m.mutable_tensors(0)->set_weights_type("F33"); }},
    {"must be F64, F32, F16 or BF16; one is 'I8'",
     [](auto& m) {
       for (auto& tensor : *m.mutable_tensors()) tensor.set_weights_type("I8");
     }},
    {"must be F64, F32, F16 or BF16; one is 'I64'",
     [](auto& m) {
       for (auto& tensor : *m.mutable_tensors()) tensor.set_states_type("I64");
     }},
    {"the same types", [](auto& m) { m.mutable_tensors(1)->set_has_master(true); }},
    {"boxes must hold", [](auto& m) { m.mutable_tensors(0)->clear_boxes(); }},
    {"boxes must hold", [](auto& m) { m.mutable_tensors(0)->mutable_boxes(0)->set_row(1); }},
    {"boxes must hold", [](auto& m) { m.mutable_tensors(0)->mutable_boxes(0)->set_rows(kMost); }},
    {"boxes must hold", [](auto& m) { m.mutable_tensors(0)->mutable_boxes(0)->set_column(-1); }},
    {"boxes must hold", [](auto& m) { *m.mutable_tensors(0)->add_boxes() = m.tensors(0).boxes(0); }},
};

// With the sum that belongs to it, as somebody would who means harm.
TEST(Manifest, RefusesWhatIsForged) {
  const CheckpointManifest good = parse_manifest(good_text()).value();
  for (const Forged& forged : kForged) {
    CheckpointManifest manifest = good;
    forged.forge(manifest);
    const auto read = parse_manifest(manifest_text(manifest));
    ASSERT_FALSE(read) << forged.says;
    EXPECT_EQ(read.error().code, ExitCode::kBadInput);
    EXPECT_THAT(read.error().message, HasSubstr(forged.says));
  }
}

TEST(Manifest, RefusesTextsThatAreNone) {
  for (const char* text : {"", "{}", "[]", "null", "{\"format\":1}", "{\"unknown\":1}", "{\"format\":\"x\"}"})
    EXPECT_FALSE(parse_manifest(text)) << text;
  EXPECT_THAT(parse_manifest(sealed(R"({"format":0,"attempt":1})")).error().message,
              HasSubstr("format: is 0, that of its fields is 1"));
}

TEST(Manifest, FindsEveryFlippedBit) {
  const test::Sample sample(128);
  for (const std::string& text : {good_text(), text_of_format(1), text_of_format(2)}) {
    for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
      if (!sample.takes(bit)) continue;
      std::string damaged = text;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      EXPECT_FALSE(parse_manifest(damaged)) << "bit " << bit;
    }
  }
}

TEST(Manifest, BoxesOfRanksBecomeOneIfTheyHoldEachElementOnce) {
  CheckpointManifest manifest = parse_manifest(good_text()).value();
  const CheckpointManifest joined = manifest;
  auto& tensor = *manifest.mutable_tensors(0);
  tensor.clear_boxes();
  for (int row = 0; row < tensor.shape(0); ++row) {
    auto& box = *tensor.add_boxes();
    box.set_rank(row);
    box.set_row(row);
    box.set_rows(1);
    box.set_columns(tensor.shape(1));
  }
  CheckpointManifest lacking = manifest;
  lacking.mutable_tensors(0)->mutable_boxes()->RemoveLast();
  EXPECT_THAT(join_boxes(lacking).error().message,
              HasSubstr("'" + tensor.name() + "': boxes must hold each of its elements once"));
  ASSERT_TRUE(join_boxes(manifest));
  EXPECT_EQ(manifest_text(manifest), manifest_text(joined));
}

TEST(Manifest, TenThousandTensorsWithoutBoxesAreRefused) {
  CARAVAN_BY_TURNS();
  CheckpointManifest manifest = parse_manifest(good_text()).value();
  for (int i = 0; i < 10'000; ++i) {
    auto& tensor = *manifest.add_tensors();
    tensor.set_name(std::to_string(i));
    tensor.add_shape(1);
    tensor.set_weights_type("F32");
    tensor.set_states_type("F32");
  }
  EXPECT_THAT(parse_manifest(manifest_text(manifest)).error().message, HasSubstr("boxes must hold"));
}

TEST(Manifest, MomentsWithATypeOfTheirOwnAreOfTheSecondFormat) {
  CheckpointManifest manifest = parse_manifest(good_text()).value();
  EXPECT_EQ(manifest.format(), 1);
  for (auto& tensor : *manifest.mutable_tensors()) tensor.set_moments_type(tensor.states_type());
  const auto read = parse_manifest(manifest_text(manifest));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->format(), 2);
}

// Nobody sets it aside as damaged.
TEST(Manifest, OfALaterVersionIsNotDamagedButNotReadEither) {
  for (const char* text : {R"({"format":3})", R"({"format":3,"later":[{"unknown":1}]})",
                           R"({"format":3,"progress":"of another type"})"}) {
    const Error error = parse_manifest(text).error();
    EXPECT_EQ(error.code, ExitCode::kJobFailed);
    EXPECT_THAT(error.message, HasSubstr("format: is 3, this version reads up to 2; take the version"));
  }
}

}  // namespace
}  // namespace caravan::checkpoint
