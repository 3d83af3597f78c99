#include "checkpoint/safetensors/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace caravan::checkpoint {
namespace {

using ::testing::HasSubstr;

const Header kHeader{.tensors = {{"a", ElementType::F32, {2, 3}, 0, 24},
                                 {"b \"quoted\"", ElementType::BF16, {4}, 24, 32},
                                 {"none", ElementType::I64, {0, 7}, 32, 32},
                                 {"one", ElementType::F64, {}, 32, 40}},
                     .metadata = {{"format", "pt"}}};

TEST(SafetensorsHeader, ReadsWhatItWrites) {
  const std::string bytes = header_bytes(kHeader);
  EXPECT_EQ(bytes.size() % 8, 0u);
  const auto length = header_text_length(std::as_bytes(std::span(bytes)), std::ssize(bytes) + 40);
  ASSERT_TRUE(length) << length.error().message;
  EXPECT_EQ(*length, std::ssize(bytes) - kHeaderLengthBytes);
  const auto header = parse_header(std::string_view(bytes).substr(kHeaderLengthBytes), 40);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(*header, kHeader);
}

TEST(SafetensorsHeader, TakesTensorsInAnyOrder) {
  const auto header = parse_header(
      R"({"b":{"shape":[1],"data_offsets":[1,2],"dtype":"U8"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
      2);
  ASSERT_TRUE(header) << header.error().message;
  EXPECT_EQ(header->tensors[0].name, "a");
}

struct Wrong {
  std::string text;
  std::string says;
};

TEST(SafetensorsHeader, SaysWhatIsWrong) {
  const auto tensor = [](const std::string& fields) { return "{\"t\":{" + fields + "}}"; };
  const Wrong cases[] = {
      {"", "incomplete"},
      {"[]", "a list stands where none belongs"},
      {"{} {}", "something stands behind its end"},
      {R"({"t":3})", "a number stands where none belongs"},
      {R"({"t":{"a":{}}})", "'a' is no field"},
      {tensor(R"("dtype":"F32","shape":[1])"), "tensor 't': dtype, shape and data_offsets must all be there"},
      {tensor(R"("dtype":"F31","shape":[1],"data_offsets":[0,4])"), "dtype 'F31'"},
      {tensor(R"("dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4])"), "dtype stands there twice"},
      {R"({"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"t":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})",
       "'t' stands there twice"},
      {R"({"__metadata__":{"k":"a","k":"b"}})", "'k' stands there twice"},
      {R"({"__metadata__":{"k":1}})", "a number stands where none belongs"},
      {tensor(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), "-1 is below 0"},
      {tensor(R"("dtype":"F32","shape":[1.5],"data_offsets":[0,4])"), "a size is no whole number"},
      {tensor(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4])"), "above 2^63"},
      {tensor(R"("dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8])"), "larger than any file"},
      {tensor(R"("dtype":"F32","shape":[3037000500,3037000500],"data_offsets":[0,8])"),
       "larger than any file"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])"), "are no 4 bytes"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), "begins at byte 8"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), "tensors must fill the file"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"),
       "end at byte 4 of the data, the file has 8"},
      {tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])"), "data_offsets must be two numbers"},
      {R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
       "tensor 'b': begins at byte 4, the tensor before ends at 8"},
      {tensor(R"("dtype":null,"shape":[1],"data_offsets":[0,4])"), "null has no meaning"},
      {R"({"t":[[[[[)", "header"},
  };
  for (const Wrong& wrong : cases) {
    const auto header = parse_header(wrong.text, 8);
    ASSERT_FALSE(header) << wrong.text;
    EXPECT_EQ(header.error().code, ExitCode::kBadInput);
    EXPECT_THAT(header.error().message, HasSubstr(wrong.says)) << wrong.text;
  }
}

TEST(SafetensorsHeader, BelievesNoLength) {
  const auto length_of = [](uint64_t length, int64_t file) {
    std::byte bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(length >> (8 * i));
    return header_text_length(bytes, file);
  };
  EXPECT_EQ(length_of(100, 108).value(), 100);
  EXPECT_THAT(length_of(101, 108).error().message, HasSubstr("there may be 100 at most"));
  EXPECT_FALSE(length_of(uint64_t{1} << 63, 1000));
  EXPECT_FALSE(length_of(~uint64_t{0}, 1000));
  EXPECT_FALSE(length_of(kLongestHeader + 1, int64_t{1} << 40));
  EXPECT_TRUE(length_of(kLongestHeader, int64_t{1} << 40));
  EXPECT_THAT(header_text_length({}, 0).error().message, HasSubstr("too short"));
}

TEST(SafetensorsHeader, SurvivesAnyDamage) {
  const std::string text = header_bytes(kHeader).substr(kHeaderLengthBytes);
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = text;
    for (int flips = 0; flips <= i % 3; ++flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 5 == 0) damaged.resize(random() % damaged.size());
    const auto header = parse_header(damaged, 40);
    if (!header) {
      EXPECT_NE(header.error().message, "");
      continue;
    }
    int64_t end = 0;  // whatever else it says, tensors lie in the file
    for (const TensorEntry& tensor : header->tensors) {
      EXPECT_EQ(tensor.begin, end);
      end = tensor.end;
    }
    EXPECT_EQ(end, 40);
  }
}

}  // namespace
}  // namespace caravan::checkpoint
