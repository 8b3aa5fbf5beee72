#include "imbrex/fields/field_files.h"

#include <fmt/format.h>

#include <string_view>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#include "imbrex/fields/xdmf_index.h"

namespace imbrex {

namespace {

/// With groups: "fluid/temperature".
void check_dataset(const field_name& name) {
  std::string_view rest = name.dataset;
  bool is_name = rest.find('\0') == std::string_view::npos;
  if (rest.starts_with('/')) rest.remove_prefix(1);
  while (is_name) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    is_name = !part.empty() && part != "." && part != "..";
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (is_name) return;
  std::string shown = name.dataset;
  for (std::size_t at = 0; (at = shown.find('\0', at)) != std::string::npos;) shown.replace(at, 1, "\\0");
  throw usage_error(fmt::format(
      "\"{}\" is no name of a field in {}: give it one such as \"temperature\", or with groups \"fluid/temperature\"",
      shown, name.file));
}

}  // namespace

void check_format(const field_name& name) {
  check_dataset(name);
  const field_format format = format_of(name.file);
  if (format == field_format::hdf5 && name.time) {
    throw usage_error(fmt::format(
        "{} has no times: name a file that ends with .xdmf or .bp, or an HDF5 file for each time", name.file));
  }
  if (format != field_format::bp && IMBREX_HAVE_HDF5 == 0) {
    throw not_built("fields in files need HDF5, which this build has not (" IMBREX_NOTE_HDF5
                    "): install libhdf5-dev and build imbrex again");
  }
  if (format == field_format::bp && IMBREX_HAVE_ADIOS2 == 0) {
    throw not_built(
        "fields in .bp files need ADIOS2, which this build has not (" IMBREX_NOTE_ADIOS2
        "): install it (spack, conda, or pip install adios2), name its place by CMAKE_PREFIX_PATH or adios2_DIR, "
        "and build imbrex again; or write .h5 or .xdmf");
  }
}

// A library that is not there has been complained of first.
#if IMBREX_HAVE_HDF5
#define IMBREX_BY_HDF5(...) __VA_ARGS__
#else
#define IMBREX_BY_HDF5(...) check_format(name)
#endif
#if IMBREX_HAVE_ADIOS2
#define IMBREX_BY_ADIOS2(...) __VA_ARGS__
#else
#define IMBREX_BY_ADIOS2(...) check_format(name)
#endif

namespace {

/// Which dataset of which HDF5 file a field is that is written.
[[maybe_unused]] field_name data_of(const field_name& name) {
  if (format_of(name.file) == field_format::hdf5) return name;
  return {xdmf_data_file(name), name.dataset, {}};
}
[[maybe_unused]] field_name data_to_read(const field_name& name) {
  return format_of(name.file) == field_format::hdf5 ? name : find_in_xdmf(name);
}
bool is_bp(const field_name& name) { return format_of(name.file) == field_format::bp; }

}  // namespace

int write_piece(const field_name& name, [[maybe_unused]] field_type type, [[maybe_unused]] const field_block& block,
                [[maybe_unused]] rank_id rank, [[maybe_unused]] const void* values) {
  int turn = 0;
  if (is_bp(name)) {
    IMBREX_BY_ADIOS2(bp_fields::write_piece(name, type, block, values));
  } else {
    IMBREX_BY_HDF5(turn = hdf5_fields::write_piece(data_of(name), type, block, rank, values));
  }
  return turn;
}

void write_whole(const field_name& name, [[maybe_unused]] field_type type, [[maybe_unused]] const field_extent& whole,
                 [[maybe_unused]] const std::vector<field_piece>& pieces) {
  if (is_bp(name)) {
    IMBREX_BY_ADIOS2(bp_fields::write_whole(name, type, whole, pieces));
    return;
  }
  [[maybe_unused]] const bool is_of_series = format_of(name.file) == field_format::xdmf;
  if (is_of_series) check_xdmf(name, whole);
  IMBREX_BY_HDF5(hdf5_fields::write_whole(data_of(name), type, whole, pieces, is_of_series));
  if (is_of_series) add_to_xdmf(name, type, whole);
}

field_extent extent_in_file(const field_name& name) {
  field_extent e;
  if (is_bp(name)) {
    IMBREX_BY_ADIOS2(e = bp_fields::extent_in_file(name));
  } else {
    IMBREX_BY_HDF5(e = hdf5_fields::extent_in_file(data_to_read(name)));
  }
  return e;
}

void read_block(const field_name& name, [[maybe_unused]] field_type type, [[maybe_unused]] const field_block& block,
                [[maybe_unused]] void* values) {
  if (is_bp(name)) {
    IMBREX_BY_ADIOS2(bp_fields::read_block(name, type, block, values));
  } else {
    IMBREX_BY_HDF5(hdf5_fields::read_block(data_to_read(name), type, block, values));
  }
}

}  // namespace imbrex
