#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/fields/field_files.h"

namespace imbrex::hdf5_fields {

namespace {

/// Something of HDF5's that is closed at the end.
class handle {
 public:
  handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~handle() {
    if (id_ >= 0) close_(id_);
  }
  handle(handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  handle& operator=(handle&&) = delete;
  operator hid_t() const { return id_; }
  bool is_valid() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// HDF5 prints what went wrong unless told not to; it is said by what is thrown.
class quiet {
 public:
  quiet() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~quiet() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }
  quiet(const quiet&) = delete;
  quiet& operator=(const quiet&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// The innermost reason that HDF5 has for its last failure.
std::string reason() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* e, void* to) -> herr_t {
        if (n == 0 && e->desc != nullptr) *static_cast<std::string*>(to) = e->desc;
        return 0;
      },
      &text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

[[noreturn]] void fail(const std::string& what, const std::string& file) {
  throw usage_error(fmt::format("cannot {} {}: {}", what, file, reason()));
}
handle checked(handle h, const std::string& what, const std::string& file) {
  if (!h.is_valid()) fail(what, file);
  return h;
}

using shape = std::array<hsize_t, 3>;  // z, y, x: as HDF5 orders them
shape to_shape(const field_extent& e) { return {e.nz, e.ny, e.nx}; }
shape start_of(const field_block& b) { return {b.z, b.y, b.x}; }

hid_t native(field_type t) {
  switch (t) {
    case field_type::float32: return H5T_NATIVE_FLOAT;
    case field_type::float64: return H5T_NATIVE_DOUBLE;
    case field_type::int32: return H5T_NATIVE_INT32;
    case field_type::int64: return H5T_NATIVE_INT64;
    case field_type::uint8: return H5T_NATIVE_UINT8;
    case field_type::uint32: return H5T_NATIVE_UINT32;
    case field_type::uint64: return H5T_NATIVE_UINT64;
  }
  return -1;
}

handle space_of(const shape& s) { return {H5Screate_simple(3, s.data(), nullptr), &H5Sclose}; }

/// The cells of `b` in its memory.
handle memory_space(const field_block& b) {
  handle space = space_of(to_shape(b.padded()));
  const shape start{b.ghosts[2], b.ghosts[1], b.ghosts[0]}, count = to_shape(b.cells);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  return space;
}

/// Without locks, which shared file systems often have not: nobody else writes to these files.
handle file_access() {
  handle access(H5Pcreate(H5P_FILE_ACCESS), &H5Pclose);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access, false, true);
#endif
  return access;
}

handle open_for_writing(const std::string& path) {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, none);
  const handle access = file_access();
  if (std::filesystem::exists(path, none)) {
    if (H5Fis_hdf5(path.c_str()) <= 0)
      throw usage_error(
          fmt::format("cannot write fields to {}: it is there and is no HDF5 file; remove it, or name "
                      "another file",
                      path));
    return checked({H5Fopen(path.c_str(), H5F_ACC_RDWR, access), &H5Fclose}, "write to", path);
  }
  return checked({H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access), &H5Fclose}, "make", path);
}

handle open_for_reading(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    throw usage_error(fmt::format("cannot read {}: there is no such file", path));
  const handle access = file_access();
  return checked({H5Fopen(path.c_str(), H5F_ACC_RDONLY, access), &H5Fclose}, "read", path);
}

/// Makes groups where a name has some.
handle groups_on_the_way() {
  handle creation(H5Pcreate(H5P_LINK_CREATE), &H5Pclose);
  H5Pset_create_intermediate_group(creation, 1);
  return creation;
}

bool exists(hid_t file, const std::string& name) {
  for (std::size_t slash = name.find('/', 1);; slash = name.find('/', slash + 1)) {
    if (H5Lexists(file, name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
    if (slash == std::string::npos) return true;
  }
}

bool is_alike(hid_t dataset, field_type type, const shape& s) {
  const handle space(H5Dget_space(dataset), &H5Sclose), of_file(H5Dget_type(dataset), &H5Tclose);
  shape there{};
  if (H5Sget_simple_extent_ndims(space) != 3) return false;
  H5Sget_simple_extent_dims(space, there.data(), nullptr);
  return there == s && H5Tequal(of_file, native(type)) > 0;
}

std::string piece_name(const field_name& name, const field_block& b) {
  return fmt::format("{}/{}_{}_{}", name.dataset, b.x, b.y, b.z);
}
std::string parts_of(const std::string& file) { return file + ".parts"; }
std::string part_name(rank_id rank) { return fmt::format("rank_{:06}.h5", rank); }

}  // namespace

void write_piece(const field_name& name, field_type type, const field_block& block, rank_id rank, const void* values) {
  const quiet silence;
  const std::string path = parts_of(name.file) + "/" + part_name(rank), piece = piece_name(name, block);
  const handle file = open_for_writing(path);
  const shape cells = to_shape(block.cells);
  const auto write = [&](const handle& dataset) {
    const handle memory = memory_space(block);
    if (H5Dwrite(dataset, native(type), memory, H5S_ALL, H5P_DEFAULT, values) < 0) fail("write " + piece + " to", path);
  };
  if (exists(file, piece)) {
    const handle old(H5Dopen2(file, piece.c_str(), H5P_DEFAULT), &H5Dclose);
    if (is_alike(old, type, cells)) return write(old);
    H5Ldelete(file, piece.c_str(), H5P_DEFAULT);
  }
  const handle space = space_of(cells), groups = groups_on_the_way();
  write(checked({H5Dcreate2(file, piece.c_str(), native(type), space, groups, H5P_DEFAULT, H5P_DEFAULT), &H5Dclose},
                "make " + piece + " in", path));
  if (H5Fflush(file, H5F_SCOPE_LOCAL) < 0) fail("write to", path);
}

void write_whole(const field_name& name, field_type type, const field_extent& whole, std::vector<field_piece> pieces) {
  const quiet silence;
  const handle file = open_for_writing(name.file);
  const handle space = space_of(to_shape(whole)), creation(H5Pcreate(H5P_DATASET_CREATE), &H5Pclose);
  const std::string beside = std::filesystem::path(parts_of(name.file)).filename().string() + "/";
  for (const field_piece& p : pieces) {
    const shape start = start_of(p.block), count = to_shape(p.block.cells);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    const handle source = space_of(count);
    if (H5Pset_virtual(creation, space, (beside + part_name(p.rank)).c_str(), piece_name(name, p.block).c_str(),
                       source) < 0)
      fail("make " + name.dataset + " in", name.file);
  }
  H5Sselect_all(space);
  if (exists(file, name.dataset)) H5Ldelete(file, name.dataset.c_str(), H5P_DEFAULT);
  const handle groups = groups_on_the_way();
  const handle made =
      checked({H5Dcreate2(file, name.dataset.c_str(), native(type), space, groups, creation, H5P_DEFAULT), &H5Dclose},
              "make " + name.dataset + " in", name.file);
  if (H5Fflush(file, H5F_SCOPE_LOCAL) < 0) fail("write to", name.file);
}

namespace {

/// Opens a file of parts, which throws where it is torn. Once for each state of it: each chare reads from all.
void check_part(const std::filesystem::path& part) {
  using state = std::pair<std::uintmax_t, std::filesystem::file_time_type>;
  static auto* const whole = new std::map<std::string, state>();  // files are read one at a time
  std::error_code none;
  const state now{std::filesystem::file_size(part, none), std::filesystem::last_write_time(part, none)};
  if (const auto known = whole->find(part.string()); known != whole->end() && known->second == now) return;
  const handle opened = open_for_reading(part.string());
  (*whole)[part.string()] = now;
}

/// HDF5 reads a virtual dataset whose parts are not there, or torn, as zeros, without a word.
void check_parts(hid_t dataset, const field_name& name) {
  const handle creation(H5Dget_create_plist(dataset), &H5Pclose);
  std::size_t num_parts = 0;
  if (H5Pget_layout(creation) != H5D_VIRTUAL || H5Pget_virtual_count(creation, &num_parts) < 0) return;
  const std::filesystem::path folder = std::filesystem::path(name.file).parent_path();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < num_parts; ++i) {
    const ssize_t length = H5Pget_virtual_filename(creation, i, nullptr, 0);
    std::string part(static_cast<std::size_t>(std::max<ssize_t>(length, 0)), ' ');
    H5Pget_virtual_filename(creation, i, part.data(), part.size() + 1);
    if (part == "." || !seen.insert(part).second) continue;
    std::error_code none;
    if (std::filesystem::exists(folder / part, none)) {
      check_part(folder / part);
      continue;
    }
    if (std::filesystem::exists(part, none)) {
      check_part(part);
      continue;
    }
    throw usage_error(fmt::format("cannot read {}: its part {} is not there; it has to lie beside the file",
                                  name.text(), (folder / part).string()));
  }
}

/// A dataset of up to three dimensions; those that it has not are 1.
struct open_field {
  handle file, dataset, space;
  int num_dimensions;
  shape extent{1, 1, 1};

  explicit open_field(const field_name& name)
      : file(open_for_reading(name.file)),
        dataset(open(file, name)),
        space(H5Dget_space(dataset), &H5Sclose),
        num_dimensions(H5Sget_simple_extent_ndims(space)) {
    if (num_dimensions < 1 || num_dimensions > 3)
      throw usage_error(
          fmt::format("cannot read {}: it has {} dimensions, not one to three", name.text(), num_dimensions));
    H5Sget_simple_extent_dims(space, extent.data() + first(), nullptr);
    check_parts(dataset, name);
  }
  int first() const { return 3 - num_dimensions; }

  static handle open(hid_t file, const field_name& name) {
    if (!exists(file, name.dataset))
      throw usage_error(fmt::format("cannot read {}: there is no such dataset", name.text()));
    return checked({H5Dopen2(file, name.dataset.c_str(), H5P_DEFAULT), &H5Dclose}, "read " + name.dataset + " of",
                   name.file);
  }
};

field_extent to_extent(const shape& s) { return {s[2], s[1], s[0]}; }

}  // namespace

field_extent extent_in_file(const field_name& name) {
  const quiet silence;
  return to_extent(open_field(name).extent);
}

void read_block(const field_name& name, field_type type, const field_block& block, void* values) {
  const quiet silence;
  const open_field from(name);
  const field_extent whole = to_extent(from.extent);
  if (!block.fits(whole))
    throw usage_error(fmt::format("cannot read {} of {}: it has {} x {} x {} cells", block.text(), name.text(),
                                  whole.nx, whole.ny, whole.nz));
  const shape start = start_of(block), count = to_shape(block.cells);
  const auto skipped = static_cast<std::size_t>(from.first());
  H5Sselect_hyperslab(from.space, H5S_SELECT_SET, start.data() + skipped, nullptr, count.data() + skipped, nullptr);
  const handle memory = memory_space(block);
  if (H5Dread(from.dataset, native(type), memory, from.space, H5P_DEFAULT, values) < 0)
    fail("read " + name.dataset + " of", name.file);
}

}  // namespace imbrex::hdf5_fields
