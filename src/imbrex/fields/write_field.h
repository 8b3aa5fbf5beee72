#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/fields/field_pieces.h"
#include "imbrex/object/chare.h"
#include "imbrex/object/reduction.h"

namespace imbrex {

namespace detail {

template <class C, class Index>
task<> write_field_from(chare<C, Index>* self, field_name name, field_type type, const void* values,
                        std::size_t num_values, field_block block, field_extent whole) {
  field_pieces mine;
  auto written = write_own_piece(&mine, name, type, block, whole, values, num_values);
  co_await written;
  const std::uint64_t by = mine.by;
  auto told = self->allreduce(std::move(mine), join_pieces{});
  field_pieces all = co_await std::move(told);
  auto made = write_whole_of(&all, name, type, by, whole);
  co_await made;
  all.all.clear();
  auto over = self->allreduce(std::move(all), join_pieces{});
  const field_pieces outcome = co_await std::move(over);
  outcome.check();
}

template <class C, class Index, class T>
task<> write_field_of(chare<C, Index>* self, field_name name, const buffer<T>* values, field_block block,
                      field_extent whole) {
  buffer<T> copy;
  const void* from = values->data();
  stream_set& s = self->streams();
  if (values->kind() == memory_kind::device) {
    copy = buffer<T>(self->on_device(), values->size(), memory_kind::pinned);
    s.to_host.after(s.compute);
    s.to_host.copy(copy.data(), values->data(), values->size() * sizeof(T));
    from = copy.data();
    co_await s.to_host.done();
  } else {
    co_await s.compute.done();
  }
  auto written = write_field_from(self, std::move(name), field_type_of<T>(), from, values->size(), block, whole);
  co_await written;
}

}  // namespace detail

/// `co_await ix::write_field(*this, "out/heat_000100.h5", "temperature", values, block, whole)` in a coroutine of every
/// element of an array: writes a field of `whole` cells, of which each element has a block, to a file that HDF5, h5py
/// and `read_field` read. The file's ending is its format: ".xdmf" has HDF5 files beside it and is opened by ParaView,
/// ".bp" is of ADIOS2, all else HDF5. These two take a time, too, and have all that were written. `values`: on the
/// host, x fastest, with the block's ghosts around it; unchanged until this has been awaited. Then the field is whole,
/// on all ranks; PEs run others meanwhile. Blocks may be of any size, also empty, and may not overlap; cells that no
/// element has are 0. A field of that name is replaced, and others of the file stay, so several are written one after
/// the other. Counts as two of the array's reductions. What goes wrong on one element is thrown on all: `usage_error`
/// naming the file, and `not_built` without the library of its format.
template <class C, class Index, class T, std::size_t N>
[[nodiscard("co_await it")]] task<> write_field(chare<C, Index>& self, std::string_view file, std::string_view dataset,
                                                std::span<T, N> values, const field_block& block,
                                                const field_extent& whole, std::optional<double> time = {}) {
  detail::check_in_array<Index>();
  return detail::write_field_from(&self, {std::string(file), std::string(dataset), time},
                                  detail::field_type_of<std::remove_const_t<T>>(), values.data(), values.size(), block,
                                  whole);
}

/// The same of a vector, which stays until this has been awaited.
template <class C, class Index, class T>
[[nodiscard("co_await it")]] task<> write_field(chare<C, Index>& self, std::string_view file, std::string_view dataset,
                                                const std::vector<T>& values, const field_block& block,
                                                const field_extent& whole, std::optional<double> time = {}) {
  return write_field(self, file, dataset, std::span(values), block, whole, time);
}
template <class C, class Index, class T>
task<> write_field(chare<C, Index>& self, std::string_view file, std::string_view dataset, std::vector<T>&& values,
                   const field_block& block, const field_extent& whole, std::optional<double> time = {}) = delete;

/// The same of a buffer, on a GPU or the host, as it is when what has been enqueued on the chare's `compute` stream by
/// now has run. It may be written to again when this has been awaited.
template <class C, class Index, class T>
[[nodiscard("co_await it")]] task<> write_field(chare<C, Index>& self, std::string_view file, std::string_view dataset,
                                                const buffer<T>& values, const field_block& block,
                                                const field_extent& whole, std::optional<double> time = {}) {
  detail::check_in_array<Index>();
  return detail::write_field_of(&self, {std::string(file), std::string(dataset), time}, &values, block, whole);
}

}  // namespace imbrex
