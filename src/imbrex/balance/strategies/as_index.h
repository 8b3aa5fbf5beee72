#pragma once

#include <cstddef>

namespace imbrex {

/// Numbers of PEs, GPUs and elements in problems are ints.
inline std::size_t as_index(int number) { return static_cast<std::size_t>(number); }

}  // namespace imbrex
