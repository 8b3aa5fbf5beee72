#pragma once

#include <string_view>

namespace imbrex::detail {

/// Throws `usage_error` where a region of a kernel breaks a rule that compilers do not see, and devices then differ in
/// what they do: `return` or `break` that leave a region, a region in a region. `text`: without comments and
/// directives.
void check_regions(std::string_view text);

}  // namespace imbrex::detail
