#pragma once

#include <cstring>
#include <string>

#include "imbrex/device/kernel/dialect_opencl.h"
#include "imbrex/text_kernels.h"

namespace imbrex_test {

/// The kernels of the file that kernel `k` was built from, from its text at run time.
inline imbrex::text_kernels text_of(const imbrex::kernel_source& k) {
  const std::string text = k.opencl_text + std::strlen(IX_OPENCL_DIALECT);
  const std::size_t end = text.find('\n');  // of its own #line 1 "file"
  const std::size_t name = text.find('"') + 1;
  return imbrex::text_kernels(text.substr(end + 1), text.substr(name, end - 1 - name) + " as a text");
}

}  // namespace imbrex_test
