#include "cli/generate/stop_tokens.h"

#include <gmock/gmock.h>

#include <map>
#include <utility>

namespace caravan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NamedTokens final : public data::Tokenizer {
 public:
  int64_t vocabulary() const override { return 10; }
  bool byte_level() const override { return false; }
  Result<std::vector<data::Token>> encode(std::string_view) const override { return bad_input("not asked"); }
  Result<std::string> decode(std::span<const uint32_t>) const override { return bad_input("not asked"); }
  std::optional<uint32_t> id_of(std::string_view name) const override {
    static const std::map<std::string_view, uint32_t> ids{
        {"<|end_of_text|>", 5}, {"</s>", 6}, {"<|eot_id|>", 7}, {"mine", 9}};
    const auto found = ids.find(name);
    return found == ids.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<uint32_t> special_id_of(std::string_view name) const override {
    return name.starts_with("<|") ? id_of(name) : std::nullopt;
  }
};

// No name of it is known.
class ConfiguredTokens final : public data::Tokenizer {
 public:
  explicit ConfiguredTokens(Result<std::optional<uint32_t>> end) : end_(std::move(end)) {}
  int64_t vocabulary() const override { return 10; }
  bool byte_level() const override { return false; }
  Result<std::vector<data::Token>> encode(std::string_view) const override { return bad_input("not asked"); }
  Result<std::string> decode(std::span<const uint32_t>) const override { return bad_input("not asked"); }
  Result<std::optional<uint32_t>> configured_end_of_text() const override { return end_; }

 private:
  Result<std::optional<uint32_t>> end_;
};

TEST(StopTokens, AreWhatTheUserNamesThenWhatTheFolderSaysThenTheKnownNames) {
  const NamedTokens tokenizer;
  EXPECT_THAT(stop_tokens({"mine", "<|eot_id|>"}, {1, 2}, tokenizer).value(), ElementsAre(9, 7));
  EXPECT_THAT(stop_tokens({"none"}, {1, 2}, tokenizer).value(), IsEmpty());
  EXPECT_THAT(stop_tokens({}, {1, 2}, tokenizer).value(), ElementsAre(1, 2));
  EXPECT_THAT(stop_tokens({}, {}, tokenizer).value(), ElementsAre(5, 7)) << "of a text and of a turn";
  EXPECT_THAT(stop_tokens({}, {}, data::ByteTokenizer()).value(), IsEmpty());
}

TEST(StopTokens, AreWhatTheConfigurationSaysWhereNobodyElseDoes) {
  EXPECT_THAT(stop_tokens({}, {}, ConfiguredTokens(3)).value(), ElementsAre(3));
  EXPECT_THAT(stop_tokens({}, {1}, ConfiguredTokens(3)).value(), ElementsAre(1));
  EXPECT_THAT(stop_tokens({}, {}, ConfiguredTokens(std::nullopt)).value(), IsEmpty());
  const ConfiguredTokens wrong(bad_input("tokenizer_config.json: no JSON object"));
  const auto tokens = stop_tokens({}, {}, wrong);
  ASSERT_FALSE(tokens);
  EXPECT_EQ(tokens.error().message,
            "tokenizer_config.json: no JSON object; give --end-of-text those tokens that end a text, or none "
            "alone");
  EXPECT_THAT(stop_tokens({"none"}, {}, wrong).value(), IsEmpty());
}

TEST(StopTokens, MustBeTokens) {
  for (const std::vector<std::string>& named : {std::vector<std::string>{"yours"}, {"mine", "none"}, {""}}) {
    const auto tokens = stop_tokens(named, {}, NamedTokens());
    ASSERT_FALSE(tokens);
    EXPECT_EQ(tokens.error().code, ExitCode::kBadInput);
    EXPECT_THAT(tokens.error().message,
                HasSubstr("--end-of-text: the tokenizer has no token " + named.back()));
  }
}

}  // namespace
}  // namespace caravan::cli
