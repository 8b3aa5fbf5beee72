#include "field/field_output.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "field/file.h"
#include "field/npy.h"
#include "field/vti.h"
#include "imbrex/base/error.h"
#include "support/output_place.h"

namespace jacobi {
namespace {

/// The file beside the place of an output that takes it until all is written.
class part {
 public:
  /// Throws usage_error where the path is not one that a file can be renamed to.
  part(const std::string& path, const std::string& suffix) : place_(path), name_(place_.target() + suffix) {
    if (!place_.is_plain())
      throw imbrex::usage_error(
          "cannot write " + path +
          ": it is a pipe or device, and fields are written in any order; give the path of a file");
  }
  file create() const { return file::create(name_, place_.path()); }
  file open() const { return file::open_for_writing(name_); }
  const std::string& name() const { return name_; }
  void commit() const { rename_file(name_, place_.target()); }

  static void remove(const std::string& path, const std::string& suffix) noexcept {
    try {
      remove_file(part(path, suffix).name_);
    } catch (...) {  // such a place has no part
    }
  }

 private:
  apps::output_place place_;
  std::string name_;
};

/// Header, cells in C order, trailer: the data of a .npy and of a .vti file alike.
struct raw_layout {
  std::string header, trailer;
  box cells;

  std::uint64_t data_bytes() const { return static_cast<std::uint64_t>(cells.size.cells()) * sizeof(double); }
  std::uint64_t total_bytes() const { return header.size() + data_bytes() + trailer.size(); }

  void begin(const file& f) const {
    f.reserve(total_bytes());
    f.write_at(0, header.data(), header.size());
    f.write_at(header.size() + data_bytes(), trailer.data(), trailer.size());
  }

  /// Writes the rows of `part`, a box inside `cells`.
  void write_rows(const file& f, const box& part, const double* rows, std::int64_t pitch) const {
    // Rows that follow each other in the file go out together, a plane at most.
    const bool whole = part.size.nx == cells.size.nx;
    const std::int64_t together = whole ? part.size.ny : 1;
    std::vector<double> run(static_cast<std::size_t>(together * part.size.nx));
    for (std::int64_t row = 0; row < part.size.ny * part.size.nz; row += together) {
      for (std::int64_t r = 0; r < together; ++r)
        std::copy_n(rows + (row + r) * pitch, part.size.nx, run.data() + r * part.size.nx);
      const std::int64_t z = part.z0 - cells.z0 + row / part.size.ny, y = part.y0 - cells.y0 + row % part.size.ny;
      const std::int64_t first = (z * cells.size.ny + y) * cells.size.nx + part.x0 - cells.x0;
      f.write_at(header.size() + static_cast<std::uint64_t>(first) * sizeof(double), run.data(),
                 run.size() * sizeof(double));
    }
  }
};

/// One file for the whole field.
class single_file_output final : public field_output {
 public:
  single_file_output(std::string path, std::string suffix, const decomposition& blocks, raw_layout layout)
      : path_(std::move(path)), suffix_(std::move(suffix)), blocks_(blocks), layout_(std::move(layout)) {}

  void create() const override {
    file f = part(path_, suffix_).create();
    try {
      layout_.begin(f);
      f.close();
    } catch (...) {
      abandon();
      throw;
    }
  }
  void write(block_position block, const double* rows, std::int64_t pitch) const override {
    file f = part(path_, suffix_).open();
    layout_.write_rows(f, blocks_.cells(block), rows, pitch);
    f.close();
  }
  void commit() const override { part(path_, suffix_).commit(); }
  void abandon() const noexcept override { part::remove(path_, suffix_); }
  const std::string& path() const override { return path_; }
  std::vector<std::string> parts() const override { return {part(path_, suffix_).name()}; }

 private:
  std::string path_, suffix_;
  decomposition blocks_;
  raw_layout layout_;
};

/// An index, and a .vti file for each block.
class pvti_output final : public field_output {
 public:
  pvti_output(std::string path, std::string suffix, const decomposition& blocks)
      : path_(std::move(path)), suffix_(std::move(suffix)), blocks_(blocks) {}

  void create() const override {
    std::vector<box> pieces;
    std::vector<std::string> names;
    for (std::int64_t n = 0; n < blocks_.num_blocks(); ++n) {
      pieces.push_back(blocks_.cells(blocks_.position(n)));
      names.push_back(std::filesystem::path(piece_path(n)).filename());
    }
    const std::string text = pvti_text(blocks_.grid(), pieces, names);
    file f = part(path_, suffix_).create();
    try {
      f.reserve(static_cast<std::uint64_t>(blocks_.grid().cells()) * sizeof(double));  // room for the pieces too
      f.reserve(text.size());
      f.write_at(0, text.data(), text.size());
      f.close();
    } catch (...) {
      abandon();
      throw;
    }
  }
  void write(block_position block, const double* rows, std::int64_t pitch) const override {
    const box cells = blocks_.cells(block);
    const raw_layout layout{vti_header(cells), vti_trailer(), cells};
    file f = part(piece_path(blocks_.number(block)), suffix_).create();
    layout.begin(f);
    layout.write_rows(f, cells, rows, pitch);
    f.close();
  }
  void commit() const override {
    for (std::int64_t n = 0; n < blocks_.num_blocks(); ++n) part(piece_path(n), suffix_).commit();
    part(path_, suffix_).commit();
  }
  void abandon() const noexcept override {
    for (std::int64_t n = 0; n < blocks_.num_blocks(); ++n) part::remove(piece_path(n), suffix_);
    part::remove(path_, suffix_);
  }
  const std::string& path() const override { return path_; }
  std::vector<std::string> parts() const override {
    std::vector<std::string> names{part(path_, suffix_).name()};
    for (std::int64_t n = 0; n < blocks_.num_blocks(); ++n) names.push_back(part(piece_path(n), suffix_).name());
    return names;
  }

 private:
  std::string piece_path(std::int64_t number) const {
    return std::filesystem::path(path_).replace_extension().string() + "_" + std::to_string(number) + ".vti";
  }

  std::string path_, suffix_;
  decomposition blocks_;
};

}  // namespace

std::unique_ptr<field_output> make_field_output(const std::string& path, const decomposition& blocks,
                                                const std::string& suffix) {
  const box all{0, 0, 0, blocks.grid()};
  if (path.ends_with(".npy"))
    return std::make_unique<single_file_output>(path, suffix, blocks, raw_layout{npy_header(blocks.grid()), "", all});
  if (path.ends_with(".pvti")) return std::make_unique<pvti_output>(path, suffix, blocks);
  if (path.ends_with(".vti"))
    return std::make_unique<single_file_output>(path, suffix, blocks, raw_layout{vti_header(all), vti_trailer(), all});
  throw imbrex::usage_error("cannot tell the format of the output " + path + ": use .npy, .vti or .pvti");
}

field_outputs::field_outputs(const std::vector<std::string>& paths, const decomposition& blocks,
                             const std::string& suffix) {
  for (const std::string& path : paths) outputs_.push_back(make_field_output(path, blocks, suffix));
}

void field_outputs::create() const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    try {
      outputs_[i]->create();
    } catch (...) {
      for (std::size_t made = 0; made < i; ++made) outputs_[made]->abandon();
      throw;
    }
  }
}

std::vector<std::string> field_outputs::parts() const {
  std::vector<std::string> all;
  for (const auto& output : outputs_) {
    try {
      std::ranges::copy(output->parts(), std::back_inserter(all));
    } catch (const imbrex::usage_error&) {  // create says so
    }
  }
  return all;
}

void field_outputs::write(block_position block, const double* rows, std::int64_t pitch) const {
  for (const auto& output : outputs_) output->write(block, rows, pitch);
}

void field_outputs::commit() const {
  for (const auto& output : outputs_) output->commit();
}

void field_outputs::abandon() const noexcept {
  for (const auto& output : outputs_) output->abandon();
}

}  // namespace jacobi
