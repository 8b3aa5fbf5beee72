#include <adios2_c.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/fields/field_files.h"

// By the C interface without MPI: a file is made by one process, of what all have written beside it.
namespace imbrex::bp_fields {

namespace {

using shape = std::array<std::size_t, 3>;  // z, y, x
shape to_shape(const field_extent& e) { return {e.nz, e.ny, e.nx}; }
shape start_of(const field_block& b) { return {b.z, b.y, b.x}; }

void check(adios2_error e, const char* what, const field_name& name) {
  if (e != adios2_error_none) throw usage_error(fmt::format("cannot {} {}: ADIOS2 has said why", what, name.text()));
}
template <class T>
T* checked(T* p, const char* what, const field_name& name) {
  if (p == nullptr) throw usage_error(fmt::format("cannot {} {}: ADIOS2 has said why", what, name.text()));
  return p;
}

/// A .bp file that is open.
class open_file {
 public:
  open_file(const field_name& name, adios2_mode mode, const char* what) : adios_(adios2_init_serial()) {
    io_ = adios2_declare_io(adios_, "fields");
    engine_ = io_ == nullptr ? nullptr : adios2_open(io_, name.file.c_str(), mode);
    if (engine_ != nullptr) return;
    adios2_finalize(adios_);
    throw usage_error(fmt::format("cannot {} {}: it is no file of ADIOS2, or there are no rights", what, name.file));
  }
  ~open_file() {
    if (engine_ != nullptr) adios2_close(engine_);
    adios2_finalize(adios_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;
  /// What is written is on its way to the disk.
  adios2_error close() { return adios2_close(std::exchange(engine_, nullptr)); }
  adios2_io* io() const { return io_; }
  adios2_engine* engine() const { return engine_; }

 private:
  adios2_adios* adios_;
  adios2_io* io_ = nullptr;
  adios2_engine* engine_ = nullptr;
};

/// Calls `f` with a value of the type.
template <class F>
void with_type(field_type t, F&& f) {
  switch (t) {
    case field_type::float32: return f(float{});
    case field_type::float64: return f(double{});
    case field_type::int32: return f(std::int32_t{});
    case field_type::int64: return f(std::int64_t{});
    case field_type::uint8: return f(std::uint8_t{});
    case field_type::uint32: return f(std::uint32_t{});
    case field_type::uint64: return f(std::uint64_t{});
  }
}
constexpr std::array types{
    std::pair(field_type::float32, adios2_type_float),  std::pair(field_type::float64, adios2_type_double),
    std::pair(field_type::int32, adios2_type_int32_t),  std::pair(field_type::int64, adios2_type_int64_t),
    std::pair(field_type::uint8, adios2_type_uint8_t),  std::pair(field_type::uint32, adios2_type_uint32_t),
    std::pair(field_type::uint64, adios2_type_uint64_t)};
adios2_type in_adios(field_type t) {
  return std::ranges::find(types, t, [](const auto& p) { return p.first; })->second;
}
field_type of_adios(adios2_type t, const field_name& name) {
  const auto* const found = std::ranges::find(types, t, [](const auto& p) { return p.second; });
  if (found == types.end())
    throw usage_error(fmt::format("cannot read {}: its numbers are of another type", name.text()));
  return found->first;
}

std::size_t size_of(field_type t) {
  std::size_t size = 0;
  with_type(t, [&](auto v) { size = sizeof(v); });
  return size;
}

/// Calls `f(row in memory, row of the block)` for each row of `b`, counted in cells.
template <class F>
void for_rows(const field_block& b, F&& f) {
  const field_extent p = b.padded();
  std::uint64_t row = 0;
  for (std::uint64_t z = 0; z < b.cells.nz; ++z) {
    for (std::uint64_t y = 0; y < b.cells.ny; ++y, row += b.cells.nx)
      f(((z + b.ghosts[2]) * p.ny + y + b.ghosts[1]) * p.nx + b.ghosts[0], row);
  }
}

std::string parts_of(const field_name& name) { return name.file + ".parts"; }
/// A block until it is part of the file.
std::string part_of(const field_name& name, const field_block& b) {
  std::string dataset = name.dataset;
  std::ranges::replace(dataset, '/', '.');
  return fmt::format("{}/{}_{}_{}_{}", parts_of(name), dataset, b.x, b.y, b.z);
}
std::string time_of(const field_name& name) { return name.dataset + ".time"; }

adios2_variable* variable_of(const open_file& file, const field_name& name) {
  adios2_variable* const v = adios2_inquire_variable(file.io(), name.dataset.c_str());
  if (v == nullptr) throw usage_error(fmt::format("cannot read {}: there is no such field", name.text()));
  return v;
}

void check_is_there(const field_name& name) {
  std::error_code none;
  if (!std::filesystem::exists(name.file, none))
    throw usage_error(fmt::format("cannot read {}: there is no such file", name.file));
}

/// The last step at that time, or at all.
std::size_t step_to_read(const open_file& file, adios2_variable* v, const field_name& name) {
  std::size_t steps = 0;
  check(adios2_variable_steps(&steps, v), "read", name);
  if (!name.time) return steps - 1;
  adios2_variable* const time = adios2_inquire_variable(file.io(), time_of(name).c_str());
  for (std::size_t step = steps; time != nullptr && step-- > 0;) {
    double at = 0;
    check(adios2_set_step_selection(time, step, 1), "read", name);
    check(adios2_get(file.engine(), time, &at, adios2_mode_sync), "read", name);
    if (at == *name.time) return step;
  }
  throw usage_error(fmt::format("cannot read {}: there is no such field at that time", name.text()));
}

/// Those that it has not are 1; gives how many it has.
std::size_t shape_of(adios2_variable* v, const field_name& name, shape& extent) {
  std::size_t num_dimensions = 0;
  check(adios2_variable_ndims(&num_dimensions, v), "read", name);
  if (num_dimensions < 1 || num_dimensions > 3)
    throw usage_error(
        fmt::format("cannot read {}: it has {} dimensions, not one to three", name.text(), num_dimensions));
  extent = {1, 1, 1};
  check(adios2_variable_shape(extent.data() + 3 - num_dimensions, v), "read", name);
  return num_dimensions;
}

}  // namespace

void write_piece(const field_name& name, field_type type, const field_block& block, const void* values) {
  std::error_code none;
  std::filesystem::create_directories(parts_of(name), none);
  const std::string path = part_of(name, block);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const auto size = size_of(type);
  for_rows(block, [&](std::uint64_t in_memory, std::uint64_t) {
    file.write(static_cast<const char*>(values) + in_memory * size,
               static_cast<std::streamsize>(block.cells.nx * size));
  });
  file.close();
  if (!file) throw usage_error(fmt::format("cannot write {}: no room, or no rights", path));
}

void write_whole(const field_name& name, field_type type, const field_extent& whole,
                 const std::vector<field_piece>& pieces) {
  if (whole.volume() == 0) throw usage_error(fmt::format("cannot write {}: it has no cells", name.text()));
  {
    open_file file(name, adios2_mode_append, "write to");
    const shape extent = to_shape(whole), none{};
    adios2_step_status status = adios2_step_status_ok;
    check(adios2_begin_step(file.engine(), adios2_step_mode_append, -1, &status), "write", name);
    adios2_variable* const v =
        checked(adios2_define_variable(file.io(), name.dataset.c_str(), in_adios(type), 3, extent.data(), none.data(),
                                       extent.data(), adios2_constant_dims_false),
                "write", name);
    if (name.time) {
      adios2_variable* const t = checked(adios2_define_variable(file.io(), time_of(name).c_str(), adios2_type_double, 0,
                                                                nullptr, nullptr, nullptr, adios2_constant_dims_true),
                                         "write", name);
      check(adios2_put(file.engine(), t, &*name.time, adios2_mode_sync), "write", name);
    }
    std::vector<char> values;
    for (const field_piece& p : pieces) {
      values.resize(p.block.cells.volume() * size_of(type));
      std::ifstream part(part_of(name, p.block), std::ios::binary);
      part.read(values.data(), static_cast<std::streamsize>(values.size()));
      if (!part)
        throw usage_error(fmt::format(
            "cannot write {}: {} is not there, which another rank has written: name a file on a disk that all share",
            name.text(), part_of(name, p.block)));
      const shape start = start_of(p.block), count = to_shape(p.block.cells);
      check(adios2_set_selection(v, 3, start.data(), count.data()), "write", name);
      check(adios2_put(file.engine(), v, values.data(), adios2_mode_sync), "write", name);
    }
    check(adios2_end_step(file.engine()), "write", name);
    check(file.close(), "write", name);
  }
  std::error_code stays;
  for (const field_piece& p : pieces) std::filesystem::remove(part_of(name, p.block), stays);
  std::filesystem::remove(parts_of(name), stays);  // unless another field is on its way
}

field_extent extent_in_file(const field_name& name) {
  check_is_there(name);
  const open_file file(name, adios2_mode_readRandomAccess, "read");
  adios2_variable* const v = variable_of(file, name);
  check(adios2_set_step_selection(v, step_to_read(file, v, name), 1), "read", name);
  shape extent;
  shape_of(v, name, extent);
  return {extent[2], extent[1], extent[0]};
}

void read_block(const field_name& name, field_type type, const field_block& block, void* values) {
  check_is_there(name);
  const open_file file(name, adios2_mode_readRandomAccess, "read");
  adios2_variable* const v = variable_of(file, name);
  check(adios2_set_step_selection(v, step_to_read(file, v, name), 1), "read", name);
  shape extent;
  const std::size_t num_dimensions = shape_of(v, name, extent), skipped = 3 - num_dimensions;
  const field_extent whole{extent[2], extent[1], extent[0]};
  if (!block.fits(whole))
    throw usage_error(fmt::format("cannot read {} of {}: it has {} x {} x {} cells", block.text(), name.text(),
                                  whole.nx, whole.ny, whole.nz));
  const shape start = start_of(block), count = to_shape(block.cells);
  check(adios2_set_selection(v, num_dimensions, start.data() + skipped, count.data() + skipped), "read", name);
  adios2_type in_file = adios2_type_unknown;
  check(adios2_variable_type(&in_file, v), "read", name);
  with_type(of_adios(in_file, name), [&](auto stored) {
    std::vector<decltype(stored)> read(block.cells.volume());
    check(adios2_get(file.engine(), v, read.data(), adios2_mode_sync), "read", name);
    with_type(type, [&](auto wanted) {
      auto* const to = static_cast<decltype(wanted)*>(values);
      for_rows(block, [&](std::uint64_t in_memory, std::uint64_t row) {
        for (std::uint64_t x = 0; x < block.cells.nx; ++x)
          to[in_memory + x] = static_cast<decltype(wanted)>(read[row + x]);
      });
    });
  });
}

}  // namespace imbrex::bp_fields
