#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "imbrex/device/kernel/kernel.h"

namespace imbrex::detail {

/// What a text in the dialect says of one of its kernels.
struct kernel_declaration {
  std::string name;
  std::vector<kernel_argument> arguments;  ///< of structs, `bytes` is 0
  std::vector<std::string> names;          ///< of the parameters
  std::vector<std::string> types;  ///< their types without qualifiers, of pointers that of the elements: "float"
  extent3 fixed_group{0, 0, 0};
};

/// All kernels of a text, in its order. Types and sizes of groups may be macros without parameters that the text
/// defines before. Throws `usage_error`, naming the kernel and what was not understood: a value that is no number, a
/// parameter of a type that the dialect has not.
std::vector<kernel_declaration> declared_kernels(std::string_view text);

}  // namespace imbrex::detail
