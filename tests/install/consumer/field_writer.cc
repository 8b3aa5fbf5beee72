// Slabs of a box that write what they have, step by step, and a main chare that looks at it.
#include <fmt/core.h>
#include <imbrex/fields.h>
#include <imbrex/imbrex.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ix = imbrex;

constexpr ix::field_extent box{8, 6, 10};

std::int64_t value(std::uint64_t cell, int step) { return static_cast<std::int64_t>(cell) * (step + 1) - 7; }

class slab : public ix::chare<slab, ix::index1d> {
 public:
  ix::task<> write(std::string folder, int steps) {
    const auto n = static_cast<std::uint64_t>(extent().x), i = static_cast<std::uint64_t>(index().x);
    ix::field_block mine;
    mine.z = box.nz * i / n;
    mine.cells = {box.nx, box.ny, box.nz * (i + 1) / n - mine.z};
    std::vector<std::int64_t> cells(mine.cells.volume());
    std::string why_not;
    for (int step = 0; step < steps && why_not.empty(); ++step) {
      for (std::uint64_t k = 0; k < cells.size(); ++k) cells[k] = value(mine.z * box.nx * box.ny + k, step);
      try {
        co_await ix::write_field(*this, fmt::format("{}/step_{}.h5", folder, step), "cells", std::span(cells), mine,
                                 box);
      } catch (const ix::not_built& e) {
        why_not = e.what();
      }
    }
    if (!why_not.empty() && index() == 0) fmt::print("{}\n", why_not);
    contribute(why_not.empty() ? steps : 0, ix::max);
  }
};

ix::task<int> start(ix::runtime& rt, std::string folder) {
  auto slabs = rt.create_array<slab>(ix::index1d(4));
  slabs.broadcast<&slab::write>(folder, 3);
  const int steps = co_await slabs.reduction<int>();
  for (int step = 0; step < steps; ++step) {
    const std::string file = fmt::format("{}/step_{}.h5", folder, step);
    auto asked = ix::extent_of_field(file, "cells");
    const ix::field_extent found = co_await asked;
    std::vector<double> cells(found.volume());
    auto read = ix::read_field(file, "cells", std::span(cells), ix::field_block{0, 0, 0, found, {}});
    co_await read;
    for (std::uint64_t k = 0; k < cells.size(); ++k) {
      if (cells[k] != static_cast<double>(value(k, step))) co_return 1;
    }
  }
  fmt::print("field writer ok\n");
  std::filesystem::remove_all(folder);
  co_return 0;
}

int main(int argc, char** argv) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("imbrex_field_writer_{}", getpid());
  return ix::run(argc, argv, &start, folder.string());
}
