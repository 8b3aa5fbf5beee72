#include <hdf5.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/fields/field_files.h"
#include "imbrex/fields/hdf5_file.h"

namespace imbrex::hdf5_fields {

namespace {

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

std::uint64_t bytes_of(field_type t) { return H5Tget_size(native(t)); }

handle space_of(const shape& s) { return {H5Screate_simple(3, s.data(), nullptr), &H5Sclose}; }

/// The cells of `b` in its memory.
handle memory_space(const field_block& b) {
  handle space = space_of(to_shape(b.padded()));
  const shape start{b.ghosts[2], b.ghosts[1], b.ghosts[0]}, count = to_shape(b.cells);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  return space;
}

/// Makes groups where a name has some.
handle groups_on_the_way() {
  handle creation(H5Pcreate(H5P_LINK_CREATE), &H5Pclose);
  H5Pset_create_intermediate_group(creation, 1);
  return creation;
}

bool is_alike(hid_t dataset, field_type type, const shape& s) {
  const handle space(H5Dget_space(dataset), &H5Sclose), of_file(H5Dget_type(dataset), &H5Tclose);
  shape there{};
  if (H5Sget_simple_extent_ndims(space) != 3) return false;
  H5Sget_simple_extent_dims(space, there.data(), nullptr);
  return there == s && H5Tequal(of_file, native(type)) > 0;
}

std::string parts_of(const std::string& file) { return file + ".parts"; }
std::string part_name(rank_id rank) { return fmt::format("rank_{:06}.h5", rank); }

std::string replaced(const std::string& text, const std::map<char, std::string>& by) {
  std::string all;
  for (const char c : text) {
    const auto other = by.find(c);
    other != by.end() ? all += other->second : all += c;
  }
  return all;
}
/// In a file of parts each field has one group, whatever groups its name has.
std::string group_of(const field_name& name) { return replaced(name.dataset, {{'/', "~1"}, {'~', "~0"}, {'%', "~2"}}); }
/// As HDF5 has it in the source of a virtual dataset, where a percent sign begins a number.
std::string source_name(const std::string& file) { return replaced(file, {{'%', "%%"}}); }
/// A block that is written again has two places by turns: the file shows the old ones until all new ones are there.
std::string piece_name(const field_name& name, const field_block& b, int turn) {
  return fmt::format("{}/{}_{}_{}{}", group_of(name), b.x, b.y, b.z, turn == 0 ? "" : "_next");
}

/// What a virtual dataset shows: file and dataset of each piece.
using sources = std::set<std::pair<std::string, std::string>>;

template <class Get>
std::string text_from(Get get) {
  const ssize_t length = get(nullptr, 0);
  std::string text(static_cast<std::size_t>(std::max<ssize_t>(length, 0)), ' ');
  get(text.data(), text.size() + 1);
  return text;
}

std::string unescaped(std::string file) {
  for (std::size_t at = 0; (at = file.find("%%", at)) != std::string::npos; ++at) file.erase(at, 1);
  return file;
}

sources sources_of(hid_t dataset) {
  sources all;
  const handle creation(H5Dget_create_plist(dataset), &H5Pclose);
  std::size_t count = 0;
  if (H5Pget_layout(creation) != H5D_VIRTUAL || H5Pget_virtual_count(creation, &count) < 0) return all;
  for (std::size_t i = 0; i < count; ++i) {
    all.emplace(
        unescaped(text_from([&](char* to, std::size_t n) { return H5Pget_virtual_filename(creation, i, to, n); })),
        text_from([&](char* to, std::size_t n) { return H5Pget_virtual_dsetname(creation, i, to, n); }));
  }
  return all;
}

/// A state of a file: what has been found out of it is true as long as it is the same.
struct file_state {
  std::uint64_t number = 0, size = 0;
  std::int64_t seconds = 0, nanoseconds = 0;
  bool operator==(const file_state&) const = default;

  static file_state of(const std::string& path) {
    struct stat s{};
    if (::stat(path.c_str(), &s) != 0) return {};
    return {s.st_ino, static_cast<std::uint64_t>(s.st_size), s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
  }
};

/// What a file shows of a field.
struct shown_field {
  file_state state;
  sources pieces;
  std::map<std::string, file_state> checked;  ///< files that have their pieces, as they were then
};

/// As it is now; nothing, where the file has no such field, or cannot be read. Each chare asks that writes a block, or
/// reads one.
shown_field& shown_now(const field_name& name) {
  constexpr std::size_t most_known = 256;
  static auto* const known = new std::map<std::pair<std::string, std::string>, shown_field>();
  if (known->size() > most_known) known->clear();
  shown_field& f = (*known)[{name.file, name.dataset}];
  const file_state now = file_state::of(name.file);
  if (now == f.state) return f;
  f = {now, {}, {}};
  const handle file = try_to_read(name.file);
  if (!file.is_valid() || !exists(file, name.dataset)) return f;
  const handle dataset(H5Dopen2(file, name.dataset.c_str(), H5P_DEFAULT), &H5Dclose);
  if (dataset.is_valid()) f.pieces = sources_of(dataset);
  return f;
}

std::string folder_beside(const std::string& file) {
  return std::filesystem::path(parts_of(file)).filename().string() + "/";
}

/// For names and sizes, besides the numbers.
constexpr std::uint64_t room_for_a_piece = 64 << 10, room_for_a_source = 1 << 10;

/// Throws `usage_error` where the name is a group with other fields, or a field is on its way.
void check_place(hid_t file, const field_name& name) {
  for (std::size_t slash = name.dataset.find('/', 1);; slash = name.dataset.find('/', slash + 1)) {
    const std::string on_the_way = name.dataset.substr(0, slash);
    if (H5Lexists(file, on_the_way.c_str(), H5P_DEFAULT) <= 0) return;
    const handle there(H5Oopen(file, on_the_way.c_str(), H5P_DEFAULT), &H5Oclose);
    const bool is_whole_name = slash == std::string::npos;
    if (there.is_valid() && (H5Iget_type(there) == H5I_GROUP) == is_whole_name)
      throw usage_error(
          fmt::format("cannot write {}: {} there is {}; give one of them another name", name.text(), on_the_way,
                      is_whole_name ? "a group, which has other fields" : "a field, and cannot have others below it"));
    if (is_whole_name) return;
  }
}

/// Up to this size a file is copied, changed, and put in its place as a whole: it shows other files' numbers and is
/// small. One with numbers of others' may be larger.
constexpr std::uintmax_t largest_copied = std::uintmax_t{64} << 20;

/// The file that is changed, which takes the place of the other when that is done.
class next_file {
 public:
  next_file(const std::string& file, file_of whose) : file_(file), path_(file + ".next") {
    std::error_code none, failed;
    std::filesystem::remove(path_, none);
    if (!std::filesystem::exists(file, none)) return;
    const bool is_whole = try_to_read(file).is_valid();
    const bool is_link = std::filesystem::is_symlink(file, none);  // stays one
    if (is_whole && !is_link && std::filesystem::file_size(file, none) <= largest_copied) {
      std::filesystem::copy_file(file, path_, failed);
      if (failed) throw usage_error(fmt::format("cannot write to {}: {}", path_, failed.message()));
    } else if (is_whole || whose == file_of::users) {
      path_ = file;
    }
  }
  ~next_file() {
    std::error_code none;
    if (path_ != file_) std::filesystem::remove(path_, none);
  }
  next_file(const next_file&) = delete;
  const std::string& path() const { return path_; }
  void take_place() {
    std::error_code failed;
    if (path_ != file_) std::filesystem::rename(path_, file_, failed);
    if (failed) throw usage_error(fmt::format("cannot write to {}: {}", file_, failed.message()));
  }

 private:
  const std::string file_;
  std::string path_;
};

}  // namespace

int write_piece(const field_name& name, field_type type, const field_block& block, rank_id rank, const void* values) {
  const quiet silence;
  const std::string part = part_name(rank), path = parts_of(name.file) + "/" + part;
  const int turn =
      shown_now(name).pieces.contains({folder_beside(name.file) + part, piece_name(name, block, 0)}) ? 1 : 0;
  const std::string piece = piece_name(name, block, turn);
  const shape cells = to_shape(block.cells);
  written_file file(path, file_of::runtime, block.cells.volume() * bytes_of(type) + room_for_a_piece);
  const auto write = [&](const handle& dataset) {
    const handle memory = memory_space(block);
    if (H5Dwrite(dataset, native(type), memory, H5S_ALL, H5P_DEFAULT, values) < 0) fail("write " + piece + " to", path);
  };
  if (exists(file, piece)) {
    const handle old(H5Dopen2(file, piece.c_str(), H5P_DEFAULT), &H5Dclose);
    if (is_alike(old, type, cells)) {
      write(old);
      file.finish();
      return turn;
    }
    H5Ldelete(file, piece.c_str(), H5P_DEFAULT);
  }
  const handle space = space_of(cells), groups = groups_on_the_way();
  write(checked({H5Dcreate2(file, piece.c_str(), native(type), space, groups, H5P_DEFAULT, H5P_DEFAULT), &H5Dclose},
                "make " + piece + " in", path));
  file.finish();
  return turn;
}

void write_whole(const field_name& name, field_type type, const field_extent& whole,
                 const std::vector<field_piece>& pieces, bool is_of_series) {
  const quiet silence;
  const file_of whose = is_of_series ? file_of::runtime : file_of::users;
  next_file next(name.file, whose);
  {
    written_file file(next.path(), whose, room_for_a_piece + pieces.size() * room_for_a_source);
    check_place(file, name);
    const handle space = space_of(to_shape(whole)), creation(H5Pcreate(H5P_DATASET_CREATE), &H5Pclose);
    const std::string beside = folder_beside(name.file);
    for (const field_piece& p : pieces) {
      const shape start = start_of(p.block), count = to_shape(p.block.cells);
      H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
      const handle source = space_of(count);
      if (H5Pset_virtual(creation, space, source_name(beside + part_name(p.rank)).c_str(),
                         piece_name(name, p.block, p.turn).c_str(), source) < 0)
        fail("make " + name.dataset + " in", name.file);
    }
    H5Sselect_all(space);
    if (exists(file, name.dataset)) H5Ldelete(file, name.dataset.c_str(), H5P_DEFAULT);
    const handle groups = groups_on_the_way();
    const handle made =
        checked({H5Dcreate2(file, name.dataset.c_str(), native(type), space, groups, creation, H5P_DEFAULT), &H5Dclose},
                "make " + name.dataset + " in", name.file);
    file.finish();
  }
  next.take_place();
}

namespace {

/// All that a file has. Throws where it is torn.
std::set<std::string> names_in(const std::string& path) {
  const handle file = open_for_reading(path);
  std::set<std::string> names;
  const auto note = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::set<std::string>*>(to)->insert(name);
    return 0;
  };
  if (H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, note, &names) < 0) fail("read", path);
  return names;
}

/// HDF5 reads a virtual dataset whose parts are not there, or torn, as zeros, without a word.
void check_parts(const field_name& name) {
  const std::filesystem::path folder = std::filesystem::path(name.file).parent_path();
  shown_field& f = shown_now(name);
  std::error_code none;
  for (auto first = f.pieces.begin(); first != f.pieces.end();) {  // those of one part are together
    const std::string& part = first->first;
    const auto end = std::find_if(first, f.pieces.end(), [&](const auto& p) { return p.first != part; });
    const std::string beside = (folder / part).string();
    const bool is_beside = std::filesystem::exists(beside, none);
    if (part != "." && !is_beside && !std::filesystem::exists(part, none))
      throw usage_error(
          fmt::format("cannot read {}: its part {} is not there; it has to lie beside the file", name.text(), beside));
    const std::string path = part == "." ? name.file : is_beside ? beside : part;
    if (const file_state now = file_state::of(path); f.checked[path] != now) {
      const std::set<std::string> names = names_in(path);
      const bool is_ours =
          part.starts_with(folder_beside(name.file));  // others' names may be patterns, or lead elsewhere
      for (auto p = first; p != end && is_ours; ++p) {
        if (!names.contains(p->second))
          throw usage_error(fmt::format("cannot read {}: its part {} has no {}; it is damaged, or of another file",
                                        name.text(), path, p->second));
      }
      f.checked[path] = now;
    }
    first = end;
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
    check_parts(name);
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
