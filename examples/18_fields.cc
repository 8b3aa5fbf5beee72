// Fields in files: a plate that cools, whose blocks write the temperature to an HDF5 file that h5py, ParaView or
// another program reads, and a second array, cut in another way, that begins from there.
//
//   build/default/bin/18_fields                          writes plate.h5 and plate.h5.parts to a folder of its own
//   build/default/bin/18_fields out/plate.h5             here; then: h5dump -d /temperature out/plate.h5
//   mpirun -n 2 build/default/bin/18_fields              every process writes what its blocks have
#include <fmt/core.h>
#include <imbrex/fields.h>
#include <imbrex/imbrex.h>
#include <unistd.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ix = imbrex;

constexpr ix::field_extent plate{96, 64};
constexpr double cooling = 0.75;

// A block of the plate, with one ghost cell around it.
class block : public ix::chare<block, ix::index2d> {
 public:
  block() {
    const ix::index2d i = index(), n = extent();
    where_.x = plate.nx * i.x / n.x;
    where_.y = plate.ny * i.y / n.y;
    where_.cells = {plate.nx * (i.x + 1) / n.x - where_.x, plate.ny * (i.y + 1) / n.y - where_.y};
    where_.ghosts = {1, 1, 0};
    heat_.resize(where_.padded().volume());
  }

  ix::task<> make(std::string file) {
    for (std::uint64_t y = 0; y < where_.cells.ny; ++y) {
      for (std::uint64_t x = 0; x < where_.cells.nx; ++x)
        at(x, y) = static_cast<double>(where_.x + x) + 1000.0 * static_cast<double>(where_.y + y);
    }
    cool();
    // All blocks call this; when it returns the file has the whole plate.
    co_await ix::write_field(*this, file, "temperature", std::span(heat_), where_, plate);
    contribute(sum(), ix::sum);
  }

  // Each reads what it wants, whoever wrote it.
  ix::task<> go_on(std::string file) {
    co_await ix::read_field(file, "temperature", std::span(heat_), where_);
    cool();
    contribute(sum(), ix::sum);
  }

 private:
  double& at(std::uint64_t x, std::uint64_t y) { return heat_[(y + 1) * where_.padded().nx + x + 1]; }
  void cool() {
    for (double& h : heat_) h *= cooling;
  }
  double sum() {
    double s = 0;
    for (std::uint64_t y = 0; y < where_.cells.ny; ++y) {
      for (std::uint64_t x = 0; x < where_.cells.nx; ++x) s += at(x, y);
    }
    return s;
  }

  ix::field_block where_;
  std::vector<double> heat_;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const std::string own = (std::filesystem::temp_directory_path() / fmt::format("imbrex_{}", getpid())).string();
  const std::string file = arguments.empty() ? own + "/plate.h5" : arguments[0];
  auto blocks = rt.create_array<block>(ix::index2d(4, 3));
  blocks.broadcast<&block::make>(file);
  fmt::print("written: {:.3f}\n", co_await blocks.reduction<double>());
  auto others = rt.create_array<block>(ix::index2d(5, 2));
  others.broadcast<&block::go_on>(file);
  fmt::print("read and gone on with: {:.3f}\n", co_await others.reduction<double>());
  if (arguments.empty()) std::filesystem::remove_all(own);
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
