#include "output/vtu_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "imbrex/base/error.h"
#include "output/out_file.h"
#include "support/output_place.h"

namespace md {
namespace {

static_assert(std::endian::native == std::endian::little, "the values are written as they lie in memory");

constexpr std::uint8_t vertex_cell = 1;  ///< VTK_VERTEX

std::string file_tag(const std::string& type) {
  return "<?xml version=\"1.0\"?>\n<VTKFile type=\"" + type +
         "\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n";
}

std::string quoted_in_xml(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

/// The tags of the arrays that lie one after the other in the appended data.
class appended_arrays {
 public:
  explicit appended_arrays(std::int64_t num_atoms) : num_atoms_(static_cast<std::uint64_t>(num_atoms)) {}

  std::string tag(const char* type, const char* name, int components, std::uint64_t value_bytes) {
    const std::uint64_t offset = end_;
    end_ += sizeof(std::uint64_t) + num_atoms_ * static_cast<std::uint64_t>(components) * value_bytes;
    const std::string count = components == 1 ? "" : fmt::format(" NumberOfComponents=\"{}\"", components);
    return fmt::format("<DataArray type=\"{}\" Name=\"{}\"{} format=\"appended\" offset=\"{}\"/>\n", type, name, count,
                       offset);
  }

 private:
  std::uint64_t num_atoms_;
  std::uint64_t end_ = 0;
};

std::string box_tag(const vector3& box) {
  return fmt::format(
      "<FieldData>\n<DataArray type=\"Float64\" Name=\"box\" NumberOfComponents=\"3\" NumberOfTuples=\"1\" "
      "format=\"ascii\">{} {} {}</DataArray>\n</FieldData>\n",
      box[0], box[1], box[2]);
}

/// Its arrays come in the order in which vtu_dump::write writes them.
std::string head_of(const dump_frame& f) {
  appended_arrays arrays(f.num_atoms);
  std::string text = file_tag("UnstructuredGrid") + "<UnstructuredGrid>\n" + box_tag(f.box);
  text += fmt::format("<Piece NumberOfPoints=\"{0}\" NumberOfCells=\"{0}\">\n", f.num_atoms);
  text += "<Points>\n" + arrays.tag("Float64", "positions", 3, sizeof(double)) + "</Points>\n";
  text += "<PointData>\n" + arrays.tag("Int64", "id", 1, sizeof(std::int64_t));
  text += arrays.tag("Int32", "type", 1, sizeof(std::int32_t));
  text += arrays.tag("Float64", "velocity", 3, sizeof(double)) + "</PointData>\n";
  text += "<Cells>\n" + arrays.tag("Int64", "connectivity", 1, sizeof(std::int64_t));
  text += arrays.tag("Int64", "offsets", 1, sizeof(std::int64_t));
  text += arrays.tag("UInt8", "types", 1, sizeof(std::uint8_t)) + "</Cells>\n";
  return text + "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_";
}

template <class value>
void write_value(out_file& file, const value& v) {
  file.write({reinterpret_cast<const char*>(&v), sizeof(v)});
}

/// An array with its length before it; `value_of` is called with each number from 0 to `count`.
template <class function>
void write_array(out_file& file, std::int64_t count, function value_of) {
  using value = decltype(value_of(std::int64_t{0}));
  write_value(file, static_cast<std::uint64_t>(count) * sizeof(value));
  for (std::int64_t i = 0; i < count; ++i) write_value(file, value_of(i));
}

}  // namespace

vtu_dump::vtu_dump(const std::string& path) : vtu_dump(path, {}) {}

vtu_dump::vtu_dump(const std::string& path, const dump_place& after)
    : stem_(std::filesystem::path(path).replace_extension()), steps_(after.steps) {
  for (const std::int64_t step : steps_) {
    const std::string frame = (stem_.parent_path() / frame_name(step)).string();
    if (!std::filesystem::exists(frame)) throw imbrex::config_error(lost_frames(frame));
  }
  write_list();
}

std::string vtu_dump::frame_name(std::int64_t step) const {
  return fmt::format("{}_{}.vtu", stem_.filename().string(), step);
}

void vtu_dump::write_list() const {
  std::string text = file_tag("Collection") + "<Collection>\n";
  for (const std::int64_t step : steps_)
    text += fmt::format("<DataSet timestep=\"{}\" part=\"0\" file=\"{}\"/>\n", step, quoted_in_xml(frame_name(step)));
  apps::write_output(stem_.string() + ".pvd", text + "</Collection>\n</VTKFile>\n");
}

void vtu_dump::write(const dump_frame& frame) {
  const auto atom = [&](std::int64_t i) -> const dump_atom& { return frame.atoms[static_cast<std::size_t>(i)]; };
  const std::int64_t n = frame.num_atoms;
  out_file file = out_file::replace((stem_.parent_path() / frame_name(frame.step)).string());
  file.write(head_of(frame));
  write_array(file, n, [&](std::int64_t i) { return atom(i).x; });
  write_array(file, n, [&](std::int64_t i) { return atom(i).id; });
  write_array(file, n, [&](std::int64_t i) { return std::int32_t{atom(i).type}; });
  write_array(file, n, [&](std::int64_t i) { return atom(i).v; });
  write_array(file, n, [](std::int64_t i) { return i; });
  write_array(file, n, [](std::int64_t i) { return i + 1; });
  write_array(file, n, [](std::int64_t) { return vertex_cell; });
  file.write("\n</AppendedData>\n</VTKFile>\n");
  file.close();
  if (std::ranges::find(steps_, frame.step) == steps_.end()) steps_.push_back(frame.step);
  write_list();
}

}  // namespace md
