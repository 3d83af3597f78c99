#include "data/token_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <numeric>

#include "common/testing/temporary_folder.h"
#include "data/testing/token_files.h"

namespace caravan::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kAnyVocabulary = std::numeric_limits<int64_t>::max();

std::vector<int64_t> tokens_of(const TokenDataset& dataset) {
  std::vector<int64_t> tokens(static_cast<size_t>(dataset.tokens()));
  const Status read = dataset.read(0, tokens, kAnyVocabulary);
  EXPECT_TRUE(read) << read.error().message;
  return tokens;
}

std::vector<int64_t> tokens_at(const std::string& path) {
  const auto dataset = TokenDataset::open(path);
  EXPECT_TRUE(dataset) << dataset.error().message;
  return dataset ? tokens_of(*dataset) : std::vector<int64_t>{};
}

Error error_of(const std::string& path) {
  const auto dataset = TokenDataset::open(path);
  EXPECT_FALSE(dataset) << path << " was accepted";
  return dataset ? Error{} : dataset.error();
}

TEST(TokenDataset, ReadsLlmCFilesOfBothWidths) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(tokens_at(folder.write("a.bin", llm_c_file(std::vector<uint16_t>{7, 65535, 0}).bytes())),
            (std::vector<int64_t>{7, 65535, 0}));
  EXPECT_EQ(
      tokens_at(folder.write("b.bin", llm_c_file(std::vector<uint32_t>{128255, 4294967295, 1}).bytes())),
      (std::vector<int64_t>{128255, 4294967295, 1}));
}

TEST(TokenDataset, AFileOfTheOtherOneIsNotHeldOutByWhateverName) {
  const test::TemporaryFolder folder;
  const std::string tokens = llm_c_file(std::vector<uint16_t>{1, 2, 3}).bytes();
  const std::string trained = folder.write("train/a.bin", tokens);
  folder.write("train/b.bin", tokens);
  const auto check = [&](const std::string& path) {
    return check_held_out(TokenDataset::open(path).value(), TokenDataset::open(folder.path("train")).value());
  };
  EXPECT_TRUE(check(folder.write("held-out/a.bin", tokens))) << "other bytes, though the same";
  std::filesystem::create_symlink(trained, folder.path("link.bin"));
  std::filesystem::create_hard_link(trained, folder.path("held-out/b.bin"));
  for (const std::string& path : {trained, folder.path("link.bin"), folder.path("held-out")}) {
    const Status refused = check(path);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, ExitCode::kBadInput);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr(path), HasSubstr("(" + trained + ")")));
  }
}

template <typename T>
void expect_megatron_round_trip(uint8_t type, const std::vector<T>& tokens) {
  const test::TemporaryFolder folder;
  const std::string bin = folder.write("c.bin", bytes_of(tokens));
  folder.write("c.idx",
               megatron_index(type, sizeof(T), {1, 0, static_cast<int32_t>(tokens.size()) - 1}).bytes());
  const std::vector<int64_t> expected(tokens.begin(), tokens.end());
  EXPECT_EQ(tokens_at(bin), expected);
  EXPECT_EQ(tokens_at(folder.path("c.idx")), expected) << "named by its index";
  EXPECT_EQ(tokens_at(folder.path("c")), expected) << "named without ending, as Megatron does";
  EXPECT_EQ(TokenDataset::open(bin)->files()[0].layout().documents, 3);
}

TEST(TokenDataset, ReadsMegatronFilesOfEveryIntegerType) {
  expect_megatron_round_trip<uint8_t>(1, {1, 255});
  expect_megatron_round_trip<int8_t>(2, {1, 127});
  expect_megatron_round_trip<int16_t>(3, {1, 32767});
  expect_megatron_round_trip<int32_t>(4, {1, 2147483647});
  expect_megatron_round_trip<int64_t>(5, {1, kAnyVocabulary - 1});
  expect_megatron_round_trip<uint16_t>(8, {1, 65535});
}

TEST(TokenDataset, AnIndexLongerThanOnePieceIsReadToItsEnd) {
  const test::TemporaryFolder folder;
  std::vector<uint16_t> tokens(20'000);
  std::iota(tokens.begin(), tokens.end(), uint16_t{0});
  const std::string bin = folder.write("c.bin", bytes_of(tokens));
  MegatronIndex index = megatron_index(8, 2, std::vector<int32_t>(20'000, 1));
  folder.write("c.idx", index.bytes());
  EXPECT_EQ(tokens_at(bin), std::vector<int64_t>(tokens.begin(), tokens.end()));

  index.positions[19'999] += 2;
  folder.write("c.idx", index.bytes());
  EXPECT_THAT(error_of(bin).message, HasSubstr("sequence 19999 begins at byte 40000, expected 39998"));
}

TEST(TokenDataset, AFolderIsItsFilesInNameOrder) {
  const test::TemporaryFolder folder;
  folder.write("d/b.bin", llm_c_file(std::vector<uint16_t>{3, 4, 5}).bytes());
  folder.write("d/a.bin", llm_c_file(std::vector<uint16_t>{1, 2}).bytes());
  folder.write("d/c.bin", bytes_of(std::vector<int32_t>{6}));
  folder.write("d/c.idx", megatron_index(4, 4, {1}).bytes());
  folder.write("d/notes.txt", "not tokens");
  folder.write("d/.hidden.bin", "not tokens");
  EXPECT_EQ(tokens_at(folder.path("d")), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tokens_at(folder.path("d/[bc].*")), (std::vector<int64_t>{3, 4, 5, 6}));
  EXPECT_EQ(tokens_at(folder.path("*/?.bin")), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(TokenDataset, AFileWhoseNameLooksLikeAGlobIsThatFile) {
  const test::TemporaryFolder folder;
  folder.write("[ab].bin", llm_c_file(std::vector<uint16_t>{9}).bytes());
  folder.write("a.bin", llm_c_file(std::vector<uint16_t>{1}).bytes());
  EXPECT_EQ(tokens_at(folder.path("[ab].bin")), (std::vector<int64_t>{9}));
}

TEST(TokenDataset, ReadsAnySpanAcrossFiles) {
  const test::TemporaryFolder folder;
  folder.write("a.bin", llm_c_file(std::vector<uint16_t>{0, 1, 2}).bytes());
  folder.write("b.bin", llm_c_file(std::vector<uint16_t>{3}).bytes());
  folder.write("c.bin", llm_c_file(std::vector<uint32_t>{4, 5}).bytes());
  const auto dataset = TokenDataset::open(folder.path(""));
  ASSERT_TRUE(dataset) << dataset.error().message;
  for (int64_t begin = 0; begin <= 6; ++begin) {
    for (int64_t end = begin; end <= 6; ++end) {
      std::vector<int64_t> expected(static_cast<size_t>(end - begin));
      std::iota(expected.begin(), expected.end(), begin);
      std::vector<int64_t> read(expected.size());
      ASSERT_TRUE(dataset->read(begin, read, 6));
      EXPECT_EQ(read, expected) << begin << " to " << end;
    }
  }
}

TEST(TokenDataset, ReadsASpanLargerThanItsBuffer) {
  const test::TemporaryFolder folder;
  std::vector<uint32_t> tokens(100'000);
  std::iota(tokens.begin(), tokens.end(), 0U);
  EXPECT_EQ(tokens_at(folder.write("a.bin", llm_c_file(tokens).bytes())),
            std::vector<int64_t>(tokens.begin(), tokens.end()));
}

TEST(TokenDataset, ASpanOutsideTheDatasetIsRefused) {
  const test::TemporaryFolder folder;
  const auto dataset =
      TokenDataset::open(folder.write("a.bin", llm_c_file(std::vector<uint16_t>{1, 2}).bytes()));
  ASSERT_TRUE(dataset);
  std::vector<int64_t> output(2);
  for (const int64_t begin : {int64_t{-1}, int64_t{1}, int64_t{3}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_FALSE(dataset->read(begin, output, kAnyVocabulary)) << begin;
  }
}

TEST(TokenDataset, ATokenOutsideTheVocabularyNamesFilePositionAndValue) {
  const test::TemporaryFolder folder;
  folder.write("a.bin", llm_c_file(std::vector<uint16_t>{1, 2, 3}).bytes());
  folder.write("b.bin", llm_c_file(std::vector<uint16_t>{1, 2, 256}).bytes());
  const auto dataset = TokenDataset::open(folder.path(""));
  ASSERT_TRUE(dataset);
  std::vector<int64_t> output(4);
  EXPECT_TRUE(dataset->read(1, output, 256));
  const Status read = dataset->read(2, output, 256);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ExitCode::kBadInput);
  EXPECT_THAT(read.error().message,
              AllOf(HasSubstr("b.bin"), HasSubstr("token 2 has id 256"), HasSubstr("0 to 255")));
}

TEST(TokenDataset, ANegativeTokenIsRefused) {
  const test::TemporaryFolder folder;
  const std::string bin = folder.write("a.bin", bytes_of(std::vector<int32_t>{5, -1}));
  folder.write("a.idx", megatron_index(4, 4, {2}).bytes());
  std::vector<int64_t> output(2);
  const Status read = TokenDataset::open(bin)->read(0, output, kAnyVocabulary);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("token 1 has id -1"));
}

TEST(TokenDataset, AFileThatShrinksWhileItIsReadIsAnErrorNotACrash) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a.bin", llm_c_file(std::vector<uint16_t>(5000)).bytes());
  const auto dataset = TokenDataset::open(path);
  ASSERT_TRUE(dataset);
  std::filesystem::resize_file(path, 2000);
  std::vector<int64_t> output(5000);
  const Status read = dataset->read(0, output, kAnyVocabulary);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, AllOf(HasSubstr("a.bin"), HasSubstr("ends at byte 2000")));
}

struct CorruptLlmC {
  const char* name;
  void (*corrupt)(LlmCFile&);
  const char* message;
};

TEST(TokenDataset, EveryLieOfAnLlmCHeaderIsRefused) {
  const CorruptLlmC cases[] = {
      {"magic", [](LlmCFile& f) { f.magic = 1; }, "not a token file"},
      {"version", [](LlmCFile& f) { f.version = 7; }, "version 7"},
      {"one token too many", [](LlmCFile& f) { ++f.tokens_low; }, "truncated"},
      {"one token too few", [](LlmCFile& f) { --f.tokens_low; }, "longer than its header says"},
      {"negative count", [](LlmCFile& f) { f.tokens_low = 0xffffffff; }, "truncated"},
      {"huge count", [](LlmCFile& f) { f.tokens_high = 0xffffffff; }, "truncated"},
      {"count that wraps in bytes", [](LlmCFile& f) { f.tokens_high = 0x80000000; }, "truncated"},
      {"no tokens", [](LlmCFile& f) { f.tokens_low = 0, f.payload.clear(); }, "holds no tokens"},
      {"half a token", [](LlmCFile& f) { f.payload.pop_back(); }, "truncated"},
      {"half a token more", [](LlmCFile& f) { f.payload += 'x'; }, "longer than its header says"},
  };
  const test::TemporaryFolder folder;
  for (const CorruptLlmC& c : cases) {
    LlmCFile file = llm_c_file(std::vector<uint16_t>{1, 2, 3});
    c.corrupt(file);
    const Error error = error_of(folder.write("lie.bin", file.bytes()));
    EXPECT_EQ(error.code, ExitCode::kBadInput) << c.name;
    EXPECT_THAT(error.message, AllOf(HasSubstr("lie.bin"), HasSubstr(c.message))) << c.name;
  }
}

TEST(TokenDataset, AnLlmCFileCutAnywhereIsRefused) {
  const test::TemporaryFolder folder;
  const std::string whole = llm_c_file(std::vector<uint16_t>{1, 2, 3}).bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(error_of(folder.write("cut.bin", whole.substr(0, size))).code, ExitCode::kBadInput) << size;
  }
}

struct CorruptIndex {
  const char* name;
  void (*corrupt)(MegatronIndex&);
  const char* message;
};

TEST(TokenDataset, EveryLieOfAMegatronIndexIsRefused) {
  const CorruptIndex cases[] = {
      {"magic", [](MegatronIndex& i) { i.magic[0] = 'X'; }, "not a Megatron index"},
      {"version", [](MegatronIndex& i) { i.version = 2; }, "has version 2"},
      {"type 0", [](MegatronIndex& i) { i.type = 0; }, "has token type 0"},
      {"floating tokens", [](MegatronIndex& i) { i.type = 7; }, "has token type 7"},
      {"wider type", [](MegatronIndex& i) { i.type = 4; }, "begins at byte"},
      {"more sequences", [](MegatronIndex& i) { ++i.sequences; }, "3 sequences"},
      {"fewer sequences", [](MegatronIndex& i) { --i.sequences; }, "1 sequences"},
      {"huge sequences", [](MegatronIndex& i) { i.sequences = ~uint64_t{0}; },
       "18446744073709551615 sequences"},
      {"sequences that wrap in bytes", [](MegatronIndex& i) { i.sequences = (uint64_t{1} << 62) + 2; },
       "sequences"},
      {"more documents", [](MegatronIndex& i) { ++i.document_entries; }, "4 document entries"},
      {"huge documents", [](MegatronIndex& i) { i.document_entries = ~uint64_t{0}; }, "document entries"},
      {"documents that wrap in bytes", [](MegatronIndex& i) { i.document_entries |= uint64_t{1} << 61; },
       "document entries"},
      {"negative length", [](MegatronIndex& i) { i.lengths[0] = -2; }, "sequence 0 has length -2"},
      {"longer sequence", [](MegatronIndex& i) { i.lengths[1] = 100; }, "sequence 1 ends at byte 204, but"},
      {"shorter sequence", [](MegatronIndex& i) { i.lengths[1] = 2; }, "describes 8 bytes of tokens, but"},
      {"negative position", [](MegatronIndex& i) { i.positions[1] = -4; },
       "sequence 1 begins at byte -4, expected 4"},
      {"far position", [](MegatronIndex& i) { i.positions[1] = INT64_MAX; }, "sequence 1 begins at byte"},
      {"document out of range", [](MegatronIndex& i) { i.documents[2] = 3; },
       "document entry 2 is 3, expected 1 to 2"},
      {"documents backwards", [](MegatronIndex& i) { i.documents[2] = 0; },
       "document entry 2 is 0, expected 1 to 2"},
      {"negative document", [](MegatronIndex& i) { i.documents[0] = -1; },
       "document entry 0 is -1, expected 0 to 2"},
  };
  const test::TemporaryFolder folder;
  for (const CorruptIndex& c : cases) {
    const std::string bin = folder.write("lie.bin", bytes_of(std::vector<uint16_t>{1, 2, 3, 4, 5}));
    MegatronIndex index = megatron_index(8, 2, {2, 3});
    c.corrupt(index);
    folder.write("lie.idx", index.bytes());
    const Error error = error_of(bin);
    EXPECT_EQ(error.code, ExitCode::kBadInput) << c.name;
    EXPECT_THAT(error.message, AllOf(HasSubstr("lie.idx"), HasSubstr(c.message))) << c.name;
  }
}

TEST(TokenDataset, AMegatronIndexCutAnywhereIsRefused) {
  const test::TemporaryFolder folder;
  const std::string bin = folder.write("cut.bin", bytes_of(std::vector<uint16_t>{1, 2, 3, 4, 5}));
  const std::string whole = megatron_index(8, 2, {2, 3}).bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    folder.write("cut.idx", whole.substr(0, size));
    EXPECT_EQ(error_of(bin).code, ExitCode::kBadInput) << size;
  }
}

TEST(TokenDataset, AMegatronPairOfTwoDatasetsIsRefused) {
  const test::TemporaryFolder folder;
  const std::string bin = folder.write("pair.bin", bytes_of(std::vector<uint16_t>{1, 2, 3}));
  folder.write("pair.idx", megatron_index(8, 2, {2}).bytes());
  EXPECT_THAT(error_of(bin).message,
              AllOf(HasSubstr("pair.idx"), HasSubstr("describes 4 bytes"), HasSubstr("pair.bin has 6")));
}

TEST(TokenDataset, WhatIsNoTokenFileIsRefusedByName) {
  const test::TemporaryFolder folder;
  folder.write("text.bin", "In the beginning God created the heaven and the earth.");
  folder.write("empty.bin", "");
  folder.write("lonely.idx", megatron_index(8, 2, {2}).bytes());
  folder.write("words/readme.txt", "no tokens here");
  std::filesystem::create_directory(folder.path("void"));
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("loop", folder.path("loop"));
  const auto expect_error = [&](const char* name, const char* message, ExitCode code) {
    const Error error = error_of(folder.path(name));
    EXPECT_EQ(error.code, code) << name;
    EXPECT_THAT(error.message, HasSubstr(message)) << name;
  };
  expect_error("text.bin", "not a token file", ExitCode::kBadInput);
  expect_error("empty.bin", "is empty", ExitCode::kBadInput);
  expect_error("pipe", "not a regular file", ExitCode::kBadInput);
  expect_error("missing.bin", "cannot open", ExitCode::kJobFailed);
  expect_error("lonely.idx", "lonely.bin: cannot open", ExitCode::kJobFailed);
  expect_error("loop", "cannot open", ExitCode::kJobFailed);
  expect_error("words", "no token files", ExitCode::kJobFailed);
  expect_error("void", "no token files", ExitCode::kJobFailed);
  expect_error("nothing-*.bin", "no file matches", ExitCode::kJobFailed);
  EXPECT_THAT(error_of("").message, HasSubstr("path of the token files is empty"));
}

// Root may read everything, so it becomes another user for a while.
class WithoutRoot {
 public:
  WithoutRoot() : was_root_(::geteuid() == 0) {
    if (was_root_) ok_ = ::seteuid(65534) == 0;
  }
  ~WithoutRoot() {
    if (was_root_) ok_ = ::seteuid(0) == 0;
  }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;
  bool ok() const { return ok_; }

 private:
  bool was_root_;
  bool ok_ = true;
};

TEST(TokenDataset, AFileWithoutReadPermissionIsRefusedByName) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("secret.bin", llm_c_file(std::vector<uint16_t>{1}).bytes());
  std::filesystem::permissions(folder.path(""), std::filesystem::perms{0755});
  std::filesystem::permissions(path, std::filesystem::perms::none);
  Error error;
  {
    const WithoutRoot user;
    ASSERT_TRUE(user.ok());
    error = error_of(path);
  }
  EXPECT_EQ(error.code, ExitCode::kJobFailed);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("secret.bin"), HasSubstr("Permission denied"), HasSubstr("right to read")));
}

TEST(TokenDataset, APatternPassesOverTheLostFilesOfAVolumeAndOverNoOtherFolder) {
  const test::TemporaryFolder volume;
  volume.write("part/a.bin", llm_c_file(std::vector<uint16_t>{1, 2}).bytes());
  std::filesystem::permissions(volume.path(""), std::filesystem::perms{0755});
  const auto close_folder = [&](const char* name) {
    std::filesystem::create_directory(volume.path(name));
    std::filesystem::permissions(volume.path(name), std::filesystem::perms::none);
  };
  std::vector<int64_t> tokens;
  Error error;
  {
    close_folder("lost+found");
    const WithoutRoot user;
    ASSERT_TRUE(user.ok());
    tokens = tokens_at(volume.path("*/*.bin"));
  }
  {
    close_folder("secret");
    const WithoutRoot user;
    ASSERT_TRUE(user.ok());
    error = error_of(volume.path("*/*.bin"));
  }
  for (const char* name : {"lost+found", "secret"})
    std::filesystem::permissions(volume.path(name), std::filesystem::perms::owner_all);
  EXPECT_EQ(tokens, (std::vector<int64_t>{1, 2}));
  EXPECT_THAT(error.message,
              HasSubstr("*/*.bin: cannot read the folders of this pattern: Permission denied"));
}

}  // namespace
}  // namespace caravan::data
