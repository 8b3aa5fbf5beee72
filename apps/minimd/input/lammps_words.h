#pragma once

#include <string>
#include <vector>

#include "input/text_file.h"

namespace md {

/// `line` up to a `#` outside of quotes.
std::string without_comment(const std::string& line);

/// The words of a command; words in single or double quotes may have blanks and lose the quotes. Throws config_error
/// for a quote that is not closed.
std::vector<std::string> quoted_words(const std::string& line, text_place place);

/// Whether "A op B" holds, with numbers A and B and one of < > <= >= == !=. Throws config_error for anything else.
bool condition_holds(const std::string& condition, text_place place);

}  // namespace md
