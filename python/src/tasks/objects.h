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
/// Those of the process's first PE, once it has opened its domain to all (`process_domain`).
template <>
struct of_all_pes<bytes_object> {
  /// What others have asked for before is done then, if the object is of the calling PE.
  static bool is_usable_here(const bytes_object& o);
};
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

/// The domain that a task's objects belong to; the calling PE's if there are none. Throws `usage_error` while a window
/// is recorded that cannot have the task.
ix::hetero_domain& domain_for(const std::vector<ix::untyped_use>& uses);

/// Memory as an array of bytes. `is_kept`, if any, is false when no array of Python is of it any more.
nb::object bytes_of(std::byte* data, std::size_t bytes, bool reads, const std::shared_ptr<bool>& is_kept = nullptr);

}  // namespace imbrex_python
