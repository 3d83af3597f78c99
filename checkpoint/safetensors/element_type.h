// Types of elements that safetensors files name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace caravan::checkpoint {

enum class ElementType : uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U8, Bool };

struct ElementTypeFacts {
  ElementType type;
  std::string_view name;
  int64_t bytes;
};

inline constexpr std::array kElementTypes = {
    ElementTypeFacts{ElementType::F64, "F64", 8}, ElementTypeFacts{ElementType::F32, "F32", 4},
    ElementTypeFacts{ElementType::F16, "F16", 2}, ElementTypeFacts{ElementType::BF16, "BF16", 2},
    ElementTypeFacts{ElementType::I64, "I64", 8}, ElementTypeFacts{ElementType::I32, "I32", 4},
    ElementTypeFacts{ElementType::I16, "I16", 2}, ElementTypeFacts{ElementType::I8, "I8", 1},
    ElementTypeFacts{ElementType::U8, "U8", 1},   ElementTypeFacts{ElementType::Bool, "BOOL", 1}};

constexpr std::string_view element_type_name(ElementType type) {
  return kElementTypes[static_cast<std::size_t>(type)].name;
}

constexpr int64_t element_bytes(ElementType type) {
  return kElementTypes[static_cast<std::size_t>(type)].bytes;
}

constexpr std::optional<ElementType> element_type_from_name(std::string_view name) {
  for (const ElementTypeFacts& facts : kElementTypes)
    if (facts.name == name) return facts.type;
  return std::nullopt;
}

}  // namespace caravan::checkpoint
