#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/fields/field_box.h"

namespace imbrex {

namespace detail {
task<> read_field_to(field_name name, field_type type, void* values, std::size_t size, field_block block);
task<field_extent> read_field_extent(field_name name);
}  // namespace detail

/// `co_await ix::read_field("in.h5", "temperature", values, block)`: reads a block of a dataset of one to three
/// dimensions, whoever wrote it, to memory of the host, x fastest, leaving the block's ghosts as they are. Numbers are
/// converted. Any coroutine may read, each what it wants; its PE runs others meanwhile. `values` stays until this has
/// been awaited. Of a file with times: at that time, or at the last one. Throws `usage_error` naming the file, and
/// `not_built` without the library of its format (`write_field`).
template <class T, std::size_t N>
[[nodiscard("co_await it")]] task<> read_field(std::string_view file, std::string_view dataset, std::span<T, N> values,
                                               const field_block& block, std::optional<double> time = {}) {
  return detail::read_field_to({std::string(file), std::string(dataset), time}, detail::field_type_of<T>(),
                               values.data(), values.size(), block);
}

/// The same to a vector, which has as many elements already.
template <class T>
[[nodiscard("co_await it")]] task<> read_field(std::string_view file, std::string_view dataset, std::vector<T>& values,
                                               const field_block& block, std::optional<double> time = {}) {
  return read_field(file, dataset, std::span(values), block, time);
}

/// `co_await ix::extent_of_field("in.h5", "temperature")`: how many cells it has.
[[nodiscard("co_await it")]] inline task<field_extent> extent_of_field(std::string_view file, std::string_view dataset,
                                                                       std::optional<double> time = {}) {
  return detail::read_field_extent({std::string(file), std::string(dataset), time});
}

}  // namespace imbrex
