#pragma once

#include <cstddef>

namespace imbrex::detail {

/// From now on the calling thread's `new` and `malloc` take up to so many bytes from large pages, where the system has
/// such: a run in virtual time goes from PE to PE, and with small ones each turn begins by looking up where its memory
/// is. What is not used is not taken from the system. Nothing happens where that cannot be done.
void use_large_pages(std::size_t bytes);

}  // namespace imbrex::detail
