#include "field/npy.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "imbrex/base/error.h"

namespace jacobi {
namespace {

static_assert(std::endian::native == std::endian::little, "the file formats here are little-endian");

constexpr std::string_view magic{"\x93NUMPY", 6};

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw imbrex::usage_error(path + " " + what +
                            ": give a .npy file of float64 in C order with shape (nz, ny, nx), as numpy.save writes "
                            "from numpy.ascontiguousarray(field, dtype='<f8')");
}

/// The text after `'key':` in the header's dictionary, without leading blanks.
std::string_view value_of(const std::string& path, std::string_view header, std::string_view key) {
  std::size_t at = header.find("'" + std::string(key) + "'");
  if (at != std::string_view::npos) at = header.find(':', at);
  if (at != std::string_view::npos) at = header.find_first_not_of(' ', at + 1);
  if (at == std::string_view::npos) refuse(path, "has a header without '" + std::string(key) + "'");
  return header.substr(at);
}

void check_type(const std::string& path, std::string_view header) {
  const std::string_view type = value_of(path, header, "descr");
  const std::size_t end = type.find_first_of(",}");
  if (!type.starts_with("'<f8'")) refuse(path, "holds elements of type " + std::string(type.substr(0, end)));
}

void check_order(const std::string& path, std::string_view header) {
  if (!value_of(path, header, "fortran_order").starts_with("False")) refuse(path, "is in Fortran order");
}

extents read_shape(const std::string& path, std::string_view header) {
  const std::string_view text = value_of(path, header, "shape");
  const std::size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) refuse(path, "has a header without a shape");
  const std::string shape(text.substr(0, end + 1));
  std::vector<std::int64_t> counts;
  for (const char* next = shape.data() + 1; *next != ')';) {
    std::int64_t count = 0;
    const auto [stop, error] = std::from_chars(next, shape.data() + shape.size(), count);
    if (error != std::errc{}) refuse(path, "has the unreadable shape " + shape);
    counts.push_back(count);
    next = stop;
    while (*next == ',' || *next == ' ') ++next;
  }
  std::int64_t cells = 1;
  bool usable = counts.size() == 3;
  for (std::int64_t count : counts) usable = usable && count >= 1 && !__builtin_mul_overflow(cells, count, &cells);
  if (!usable || cells > std::int64_t{1} << 56) refuse(path, "has shape " + shape);
  return {counts[2], counts[1], counts[0]};
}

struct preamble {
  std::uint64_t length_offset, length_bytes;
};

preamble read_preamble(const std::string& path, const file& f) {
  std::array<char, 8> start;
  if (f.size() < 10) refuse(path, "is no .npy file");
  f.read_at(0, start.data(), start.size());
  if (std::string_view(start.data(), magic.size()) != magic) refuse(path, "is no .npy file");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) refuse(path, "has the unknown .npy version " + std::to_string(version));
  return {8, version == 1 ? 2u : 4u};
}

}  // namespace

npy_reader::npy_reader(const std::string& path) : file_(file::open_for_reading(path)) {
  const preamble p = read_preamble(path, file_);
  const std::uint64_t size = file_.size();
  if (size < p.length_offset + p.length_bytes) refuse(path, "ends inside its header");
  std::uint64_t length = 0;
  file_.read_at(p.length_offset, &length, p.length_bytes);
  data_offset_ = p.length_offset + p.length_bytes + length;
  if (size < data_offset_) refuse(path, "ends inside its header");
  std::string header(length, '\0');
  file_.read_at(p.length_offset + p.length_bytes, header.data(), length);
  check_type(path, header);
  check_order(path, header);
  grid_ = read_shape(path, header);
  const std::uint64_t expected = data_offset_ + static_cast<std::uint64_t>(grid_.cells()) * sizeof(double);
  if (size < expected)
    refuse(path, "is cut short (" + std::to_string(size) + " of " + std::to_string(expected) + " bytes)");
}

void npy_reader::read_box(const box& cells, double* rows, std::int64_t pitch) const {
  const auto bytes = static_cast<std::uint64_t>(cells.size.nx) * sizeof(double);
  for (std::int64_t z = 0; z < cells.size.nz; ++z) {
    for (std::int64_t y = 0; y < cells.size.ny; ++y) {
      const std::int64_t first = ((cells.z0 + z) * grid_.ny + cells.y0 + y) * grid_.nx + cells.x0;
      file_.read_at(data_offset_ + static_cast<std::uint64_t>(first) * sizeof(double),
                    rows + (z * cells.size.ny + y) * pitch, bytes);
    }
  }
}

std::string npy_header(extents grid) {
  std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(grid.nz) + ", " +
                     std::to_string(grid.ny) + ", " + std::to_string(grid.nx) + "), }";
  const std::size_t before = magic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace jacobi
