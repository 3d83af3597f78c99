// The files that page/ is bundled into when the program is built.
#pragma once

#include <span>
#include <string_view>

namespace caravan::service {

struct PageFile {
  std::string_view path;  // "/", or one that names the content by its hash
  std::string_view content_type;
  std::string_view body;
};

extern const std::span<const PageFile> kPageFiles;

}  // namespace caravan::service
