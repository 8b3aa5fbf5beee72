#pragma once

#include <string>

#include "imbrex/device/opencl/opencl_api.h"

namespace imbrex {

/// "CL_INVALID_VALUE (-30)"; numbers without a name are given alone.
std::string opencl_error_text(cl_int status);

/// Throws `device_error` "<what>: <text>" unless `status` is success.
void check_opencl(cl_int status, const std::string& what);
inline void check_opencl(cl_int status, const char* what) {
  if (status != CL_SUCCESS) [[unlikely]]
    check_opencl(status, std::string(what));
}

/// A text that `query(size, place, &needed)` of OpenCL gives, without its final zero; empty when it gives none.
template <class Query>
std::string opencl_text(Query query) {
  std::size_t bytes = 0;
  if (query(std::size_t{0}, nullptr, &bytes) != CL_SUCCESS || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (query(bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace imbrex
