#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The text of a kernel in its words.
namespace imbrex::detail {

bool is_word(char c);
bool is_space(char c);
std::string_view trimmed(std::string_view s);
/// Without comments and the insides of strings; lines that go on are one.
std::string without_comments(std::string_view text);
/// Words, and each other character that is no space.
std::vector<std::string> words_of(std::string_view text);

}  // namespace imbrex::detail
