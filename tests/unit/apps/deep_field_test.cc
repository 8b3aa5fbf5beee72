#include "field/deep_field.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "field/initial_state.h"
#include "field/serial_reference.h"
#include "imbrex/base/memory/sanitizer.h"
#include "imbrex/object/halo/neighbours.h"
#include "options.h"

namespace jacobi {
namespace deep_field_test {
namespace {

struct cut_grid {
  extents grid;
  int cx, cy, cz;
};

/// A grid of blocks that exchange without a runtime.
class blocks_in_turn {
 public:
  blocks_in_turn(const options& o, const cut_grid& cut) : given_(o), cut_(o.grid, cut.cx, cut.cy, cut.cz) {
    const bool p = o.boundary.periodic;
    for (std::int64_t n = 0; n < cut_.num_blocks(); ++n) {
      const block_position at = cut_.position(n);
      around_.push_back(imbrex::neighbours(imbrex::index3d{at.x, at.y, at.z}, imbrex::index3d{cut.cx, cut.cy, cut.cz},
                                           {.diagonal = true, .periodic = {p, p, p}}));
      open_sides open{};
      for (const face f : all_faces) open[static_cast<std::size_t>(f)] = cut_.neighbour(at, f, p).has_value();
      const box cells = cut_.cells(at);
      fields_.emplace_back(cells.size, o.steps, open, o.boundary.value);
      std::vector<double> rows(static_cast<std::size_t>(cells.size.nz * cells.size.ny * row_pitch(cells.size.nx)));
      write_initial_state(rows.data(), row_pitch(cells.size.nx), o.grid, cells, o.initial, o.boundary);
      fields_.back().set_current(rows.data());
    }
  }

  void advance(const update_kernel& kernel, int steps) {
    std::map<std::pair<std::int64_t, int>, std::vector<double>> sent;  // by receiver and its port
    for (std::size_t n = 0; n < fields_.size(); ++n) {
      const extents size = fields_[n].size();
      for (const auto& there : around_[n]) {
        const auto number = cut_.number({there.index.x, there.index.y, there.index.z});
        std::vector<double>& data = sent[{number, there.peer_port}];
        data.resize(there.cells(
            {static_cast<std::size_t>(size.nx), static_cast<std::size_t>(size.ny), static_cast<std::size_t>(size.nz)},
            static_cast<std::size_t>(given_.steps)));
        fields_[n].pack(there.offset, data.data());
      }
    }
    for (std::size_t n = 0; n < fields_.size(); ++n) {
      for (const auto& there : around_[n])
        fields_[n].unpack(there.offset, sent.at({static_cast<std::int64_t>(n), there.port}).data());
      fields_[n].update(kernel, steps);
    }
  }

  void expect_same_as(const serial_reference& expected, const serial_reference& before) {
    for (std::size_t n = 0; n < fields_.size(); ++n) {
      const box cells = cut_.cells(cut_.position(static_cast<std::int64_t>(n)));
      const std::int64_t pitch = row_pitch(cells.size.nx);
      std::vector<double> rows(static_cast<std::size_t>(cells.size.nz * cells.size.ny * pitch));
      fields_[n].copy_current(rows.data());
      EXPECT_TRUE(compare_block(cells.size, rows.data(), pitch, expected.copy_box(cells).data()).same_bits)
          << "block " << n;
      fields_[n].copy_previous(rows.data());
      EXPECT_TRUE(compare_block(cells.size, rows.data(), pitch, before.copy_box(cells).data()).same_bits)
          << "block " << n << " a step before";
    }
  }

 private:
  const options given_;
  const decomposition cut_;
  std::vector<std::vector<imbrex::neighbour<imbrex::index3d>>> around_;
  std::vector<deep_field> fields_;
};

options problem(const cut_grid& cut, int depth, std::int64_t iterations, bool periodic, bool weighted) {
  options o;
  o.grid = cut.grid;
  o.steps = depth;
  o.warm_up = 0;
  o.iterations = iterations;
  o.initial = {initial_kind::random, 17, ""};
  o.boundary = {periodic, periodic ? 0.0 : 0.75};
  if (weighted) o.formula = {true, 0.3, 0.11};
  return o;
}

/// Passes as deep as the ghosts, and a shorter one at the end.
void expect_the_bits_of_single_steps(const cut_grid& cut, int depth, std::int64_t iterations) {
  for (const bool periodic : {false, true}) {
    for (const bool weighted : {false, true}) {
      SCOPED_TRACE(::testing::Message() << cut.cx << " x " << cut.cy << " x " << cut.cz << " blocks, depth " << depth
                                        << (periodic ? ", periodic" : "") << (weighted ? ", weighted" : ""));
      options o = problem(cut, depth, iterations, periodic, weighted);
      serial_reference expected(o);
      expected.run();
      --o.iterations;
      serial_reference before(o);
      before.run();
      blocks_in_turn blocks(o, cut);
      const update_kernel kernel(o.formula, store_policy::cached);
      for (std::int64_t done = 0; done < iterations; done += depth)
        blocks.advance(kernel, static_cast<int>(std::min<std::int64_t>(depth, iterations - done)));
      blocks.expect_same_as(expected, before);
    }
  }
}

TEST(deep_field, gives_the_bits_of_single_steps) {
  for (const int depth : {1, 2, 3, 4}) {
    for (const cut_grid& cut :
         {cut_grid{{9, 7, 6}, 1, 1, 1}, {{13, 11, 10}, 2, 1, 1}, {{12, 13, 14}, 2, 3, 2}, {{19, 12, 9}, 3, 3, 2}})
      expect_the_bits_of_single_steps(cut, depth, 2 * depth + 1);
  }
}

TEST(deep_field, goes_over_long_rows_in_tiles) {
  for (const int depth : {2, 5}) {
    if (imbrex::any_sanitizer && depth > 2) continue;
    expect_the_bits_of_single_steps({{2048, 70, 12}, 1, 1, 2}, depth, 2 * depth + 1);
  }
}

TEST(deep_field, takes_blocks_as_thin_as_its_ghosts) {
  for (const int depth : {1, 2, 5}) {
    const std::int64_t n = 3 * depth;
    expect_the_bits_of_single_steps({{n, n, n}, 3, 3, 3}, depth, 3 * depth);
  }
}

}  // namespace
}  // namespace deep_field_test
}  // namespace jacobi
