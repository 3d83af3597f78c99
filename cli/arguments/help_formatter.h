// Help that keeps to the width of the terminal: descriptions are wrapped between words, and the words that an
// option takes stand in its description, with the one that it has by default.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace caravan::cli {

class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(int width);

  std::string make_description(const CLI::App* app) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_usage(const CLI::Option* option) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  // Of a description, beside the column of the names.
  std::string wrapped(const std::string& text) const;

  int width_;
};

}  // namespace caravan::cli
