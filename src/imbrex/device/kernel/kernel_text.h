#pragma once

#include <string>
#include <string_view>

/// What goes to OpenCL's compilers, and what they say. Needs no OpenCL.
namespace imbrex {

/// The text of a program with IX_FIRST, which declares a kernel's first parameter, put in front of the parameters of
/// each IX_KERNEL, IX_KERNEL_OF_GROUP and IX_KERNEL_RESIDENT. A macro cannot do that: OpenCL C has none of variable
/// length. Lines stay where they are; a text without kernels of the dialect is not changed.
std::string with_first_parameters(std::string_view text);

/// A compiler's log with the lines that it calls "<kernel>:12:", as NVIDIA's does, which counts all lines of the text
/// and does not look at #line, named as #line says: "saxpy.hk:3:". Those in front of the first #line stay.
std::string with_named_lines(std::string_view log, std::string_view text);

}  // namespace imbrex
