#include "kernels/kernel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "bare_threads.h"
#include "field/block_field.h"
#include "field/initial_state.h"
#include "field/serial_reference.h"
#include "imbrex/base/error.h"
#include "options.h"

namespace jacobi {
namespace kernel_test {
namespace {

std::vector<instruction_set> instruction_sets() {
  std::vector<instruction_set> present;
  for (instruction_set isa : {instruction_set::baseline, instruction_set::avx2, instruction_set::avx512})
    if (isa <= best_instruction_set()) present.push_back(isa);
  return present;
}

const std::vector<extents>& odd_extents() {
  static const std::vector<extents> all{{1, 1, 1},  {2, 3, 4},  {7, 5, 3},   {8, 8, 8},  {9, 4, 6},
                                        {16, 2, 2}, {17, 1, 5}, {31, 29, 3}, {65, 1, 1}, {12, 200, 3}};
  return all;
}

options problem(extents grid, bool weighted, bool periodic, std::int64_t iterations) {
  options o;
  o.grid = grid;
  o.warm_up = 0;
  o.iterations = iterations;
  o.initial = {initial_kind::random, 42, ""};
  o.boundary = {periodic, periodic ? 0.0 : 0.25};
  if (weighted) o.formula = {true, 0.4, 0.1};
  return o;
}

/// Copies every outgoing face to the ghost opposite: the halo exchange of a periodic domain in one block.
void wrap_ghosts(block_field& field) {
  for (face side : all_faces) {
    const auto from = field.outgoing(side);
    std::copy(from.begin(), from.end(), field.ghost(opposite(side)).begin());
  }
}

void expect_padding_zero(const block_field& field) {
  for (std::int64_t row = 0; row < field.num_rows(); ++row)
    for (std::int64_t x = field.size().nx; x < field.pitch(); ++x)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(field.current()[row * field.pitch() + x]), 0u);
}

using update_function = void (*)(const update_kernel&, const block_view&);

void update_whole(const update_kernel& kernel, const block_view& view) { kernel.update(view); }

void update_in_parts(const update_kernel& kernel, const block_view& view) {
  for (std::int64_t z = 0; z < view.size.nz; ++z) {
    const std::int64_t middle = view.size.ny / 2;
    kernel.update(view, {z, z + 1, middle, view.size.ny});
    kernel.update(view, {z, z + 1, 0, middle});
  }
}

template <unsigned Pending>
void update_split(const update_kernel& kernel, const block_view& view) {
  kernel.update_interior(view, face_set{Pending});
  kernel.update_exterior(view, face_set{Pending});
}

/// Iterates one block by itself and compares it with the reference, bit by bit.
void check(const options& o, const update_kernel& kernel, update_function update) {
  SCOPED_TRACE(testing::Message() << o.grid.nx << " x " << o.grid.ny << " x " << o.grid.nz << ' ' << name(kernel.isa())
                                  << (o.formula.weighted ? " weighted" : " mean")
                                  << (o.boundary.periodic ? " periodic" : " fixed"));
  const box all{0, 0, 0, o.grid};
  block_field field(o.grid, o.boundary.value);
  set_initial_state(field, o.grid, all, o.initial, o.boundary);
  for (std::int64_t i = 0; i < o.iterations; ++i) {
    if (o.boundary.periodic) wrap_ghosts(field);
    update(kernel, field.view());
    field.advance();
  }
  serial_reference reference(o);
  EXPECT_EQ(reference.run(), o.iterations);
  const verification v = compare_block(o.grid, field.current(), field.pitch(), reference.copy_box(all).data());
  EXPECT_TRUE(v.same_bits) << "error " << v.max_abs_error;
  expect_padding_zero(field);
}

void check_all(update_function update) {
  for (extents grid : odd_extents())
    for (bool weighted : {false, true})
      for (bool periodic : {false, true})
        for (instruction_set isa : instruction_sets())
          for (store_policy policy : {store_policy::cached, store_policy::streaming}) {
            const options o = problem(grid, weighted, periodic, 4);
            check(o, update_kernel(o.formula, policy, isa), update);
          }
}

TEST(kernel, same_bits_as_the_reference) { check_all(update_whole); }
TEST(kernel, same_bits_in_parts) { check_all(update_in_parts); }
TEST(kernel, interior_then_exterior_with_all_faces_pending) { check_all(update_split<0b111111>); }
TEST(kernel, interior_then_exterior_with_some_faces_pending) {
  check_all(update_split<0b000000>);
  check_all(update_split<0b000010>);
  check_all(update_split<0b011001>);
  check_all(update_split<0b100100>);
}

TEST(kernel, interior_reads_no_pending_ghost) {
  const extents grid{11, 5, 4};
  const double poison = std::nan("");
  block_field field(grid, poison);
  const update_kernel kernel({}, store_policy::cached);
  kernel.update_interior(field.view(), face_set{0b111111});
  field.advance();
  for (std::int64_t z = 1; z + 1 < grid.nz; ++z)
    for (std::int64_t y = 1; y + 1 < grid.ny; ++y)
      for (std::int64_t x = 1; x + 1 < grid.nx; ++x) ASSERT_EQ(field.row(y, z)[x], 0.0);
}

TEST(kernel, packs_what_pack_faces_packs) {
  for (extents grid : odd_extents()) {
    for (instruction_set isa : instruction_sets()) {
      block_field field(grid, 0.5);
      set_initial_state(field, grid, {0, 0, 0, grid}, {initial_kind::random, 7, ""}, {});
      update_kernel({}, store_policy::cached, isa).update(field.view());
      field.advance();
      std::vector<std::vector<double>> packed;
      for (face side : all_faces) packed.emplace_back(field.outgoing(side).begin(), field.outgoing(side).end());
      field.pack_faces();
      for (face side : all_faces) {
        const auto expected = field.outgoing(side);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), packed[static_cast<std::size_t>(side)].begin()))
            << name(side) << ' ' << name(isa) << ' ' << grid.nx;
      }
    }
  }
}

TEST(kernel, outgoing_faces_outlive_the_next_update) {
  const extents grid{9, 3, 3};
  block_field field(grid, 0.5);
  set_initial_state(field, grid, {0, 0, 0, grid}, {initial_kind::random, 7, ""}, {});
  const update_kernel kernel({}, store_policy::cached);
  for (face side : all_faces) {
    const auto lent = field.outgoing(side);
    const std::vector<double> before(lent.begin(), lent.end());
    kernel.update(field.view());
    field.advance();
    EXPECT_TRUE(std::equal(lent.begin(), lent.end(), before.begin())) << name(side);
  }
}

TEST(kernel, reads_ghosts_where_a_neighbour_keeps_them) {
  // Two blocks side by side in y: the lower one's upper ghost rows are read in the upper one's field.
  const extents grid{10, 6, 4}, half{10, 3, 4};
  options o = problem(grid, false, false, 1);
  block_field low(half, 0.25), high(half, 0.25);
  set_initial_state(low, grid, {0, 0, 0, half}, o.initial, o.boundary);
  set_initial_state(high, grid, {0, 3, 0, half}, o.initial, o.boundary);
  block_view view = low.view();
  view.ghost_y[1] = high.current();
  view.ghost_y_stride[1] = half.ny * high.pitch();
  update_kernel({}, store_policy::cached).update(view);
  low.advance();
  serial_reference reference(o);
  reference.run();
  const std::vector<double> expected = reference.copy_box({0, 0, 0, half});
  EXPECT_TRUE(compare_block(half, low.current(), low.pitch(), expected.data()).same_bits);
}

TEST(kernel, sine_decays_as_the_analytic_solution) {
  // With a fixed boundary of 0 the product of sines is an eigenvector of the update.
  const std::int64_t n = 15, iterations = 50;
  options o = problem({n, n, n}, false, false, iterations);
  o.initial = {initial_kind::sine, 0, ""};
  o.boundary = {false, 0.0};
  block_field field(o.grid, 0.0);
  set_initial_state(field, o.grid, {0, 0, 0, o.grid}, o.initial, o.boundary);
  const double before = field.row(7, 7)[7];
  const update_kernel kernel({}, store_policy::cached);
  for (std::int64_t i = 0; i < iterations; ++i) {
    kernel.update(field.view());
    field.advance();
  }
  const double factor = (1 + 6 * std::cos(std::numbers::pi / (n + 1))) / 7;
  EXPECT_NEAR(field.row(7, 7)[7] / before, std::pow(factor, iterations), 1e-13);
}

TEST(kernel, bare_threads_give_the_same_bits) {
  options o = problem({33, 10, 7}, false, false, 5);
  for (int threads : {1, 2, 3}) {
    bare_threads bare(o.grid, o.boundary.value, update_kernel({}, store_policy::streaming), threads);
    set_initial_state(bare.field(), o.grid, {0, 0, 0, o.grid}, o.initial, o.boundary);
    EXPECT_GT(bare.run(o.iterations), 0.0);
    serial_reference reference(o);
    reference.run();
    const auto expected = reference.copy_box({0, 0, 0, o.grid});
    EXPECT_TRUE(compare_block(o.grid, bare.field().current(), bare.field().pitch(), expected.data()).same_bits);
  }
  EXPECT_THROW(bare_threads({4, 4, 4}, 0, update_kernel({}, store_policy::cached), 5), imbrex::usage_error);
}

TEST(kernel, store_policy_follows_the_last_level_cache) {
  EXPECT_EQ(choose_store_policy(last_level_cache_bytes()), store_policy::cached);
  EXPECT_EQ(choose_store_policy(last_level_cache_bytes() + 1), store_policy::streaming);
}

TEST(block_field, memory_is_what_it_says) {
  // 2 fields of 5*4 rows of 16; ghosts 2*20 + 2*5*16 + 2*4*16; outgoing x and y twice.
  EXPECT_EQ(block_field::bytes_needed({9, 4, 5}), 8u * (2 * 320 + 40 + 160 + 128 + 2 * (40 + 160)));
  const block_field field({9, 4, 5}, 3.0);
  EXPECT_EQ(field.pitch(), 16);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(field.row(3, 4)) % 64, 0u);
  EXPECT_EQ(field.ghost(face::ylo)[8], 3.0);
  EXPECT_EQ(field.ghost(face::ylo)[9], 0.0);
  EXPECT_EQ(field.outgoing(face::zhi).data(), field.row(0, 4));
}

}  // namespace
}  // namespace kernel_test
}  // namespace jacobi
