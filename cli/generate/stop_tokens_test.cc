#include "cli/generate/stop_tokens.h"

#include <gmock/gmock.h>

#include <map>

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
        {"<|end_of_text|>", 5}, {"<|eot_id|>", 7}, {"mine", 9}};
    const auto found = ids.find(name);
    return found == ids.end() ? std::nullopt : std::optional(found->second);
  }
};

TEST(StopTokens, AreWhatTheUserNamesThenWhatTheFolderSaysThenTheKnownNames) {
  const NamedTokens tokenizer;
  EXPECT_THAT(stop_tokens({"mine", "<|eot_id|>"}, {1, 2}, tokenizer).value(), ElementsAre(9, 7));
  EXPECT_THAT(stop_tokens({"none"}, {1, 2}, tokenizer).value(), IsEmpty());
  EXPECT_THAT(stop_tokens({}, {1, 2}, tokenizer).value(), ElementsAre(1, 2));
  EXPECT_THAT(stop_tokens({}, {}, tokenizer).value(), ElementsAre(5, 7)) << "of a text and of a turn";
  EXPECT_THAT(stop_tokens({}, {}, data::ByteTokenizer()).value(), IsEmpty());
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
