#include "field/vti.h"

#include <cstdint>
#include <cstring>

namespace jacobi {
namespace {

/// VTK counts points: an extent of n cells has n+1 of them.
std::string extent_text(const box& b) {
  std::string text;
  for (auto [first, count] : {std::pair{b.x0, b.size.nx}, {b.y0, b.size.ny}, {b.z0, b.size.nz}})
    text += (text.empty() ? "" : " ") + std::to_string(first) + " " + std::to_string(first + count);
  return text;
}

std::string file_tag(const std::string& type) {
  return "<?xml version=\"1.0\"?>\n<VTKFile type=\"" + type +
         "\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n";
}

constexpr const char* place = "Origin=\"0 0 0\" Spacing=\"1 1 1\"";

}  // namespace

std::string vti_header(const box& cells) {
  const std::string extent = extent_text(cells);
  std::string text = file_tag("ImageData") + "<ImageData WholeExtent=\"" + extent + "\" " + place +
                     ">\n<Piece Extent=\"" + extent +
                     "\">\n<CellData Scalars=\"field\">\n"
                     "<DataArray type=\"Float64\" Name=\"field\" format=\"appended\" offset=\"0\"/>\n"
                     "</CellData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_";
  const std::uint64_t bytes = static_cast<std::uint64_t>(cells.size.cells()) * sizeof(double);
  char length[sizeof(bytes)];
  std::memcpy(length, &bytes, sizeof(bytes));
  return text.append(length, sizeof(length));
}

std::string vti_trailer() { return "\n</AppendedData>\n</VTKFile>\n"; }

std::string pvti_text(extents grid, const std::vector<box>& pieces, const std::vector<std::string>& names) {
  std::string text = file_tag("PImageData") + "<PImageData WholeExtent=\"" + extent_text({0, 0, 0, grid}) +
                     "\" GhostLevel=\"0\" " + place +
                     ">\n<PCellData Scalars=\"field\">\n<PDataArray type=\"Float64\" Name=\"field\"/>\n</PCellData>\n";
  for (std::size_t i = 0; i < pieces.size(); ++i)
    text += "<Piece Extent=\"" + extent_text(pieces[i]) + "\" Source=\"" + names[i] + "\"/>\n";
  return text + "</PImageData>\n</VTKFile>\n";
}

}  // namespace jacobi
