#pragma once

#include <imbrex/hetero/submission/untyped_reduction.h>
#include <imbrex/imbrex.h>
#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <string>

#include "home.h"

namespace imbrex_python {

namespace nb = nanobind;

using bytes_object = ix::hetero_object<std::byte>;
using object_handle = of_home<bytes_object>;
using object_pointer = std::shared_ptr<object_handle>;
inline constexpr const char* an_object = "an Object";

/// \name By their names in Python; throw `usage_error` for others
///@{
ix::access_mode mode_of(const std::string& mode);
ix::device_kind kind_of(const std::string& name);
ix::element_operation operation_of(const std::string& name);
ix::number_type number_of(const std::string& dtype);
/// Bits of `task_node`, of "host" and "cuda".
std::uint8_t places_of(const std::vector<std::string>& where);
///@}

/// Memory as an array of bytes. `is_kept`, if any, is false when no array of Python is of it any more.
nb::object bytes_of(std::byte* data, std::size_t bytes, bool reads, const std::shared_ptr<bool>& is_kept = nullptr);

}  // namespace imbrex_python
