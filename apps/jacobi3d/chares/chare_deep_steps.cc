#include "chares/chare_deep_steps.h"

#include "field/change_sum.h"
#include "field/initial_state.h"
#include "memory_check.h"

namespace jacobi {

std::uint64_t host_bytes_of_all_blocks(const decomposition& blocks, const options& o) {
  if (o.steps == 1) return bytes_of_all_blocks(blocks);
  check_steps_fit(blocks, o);
  return static_cast<std::uint64_t>(blocks.num_blocks()) *
         deep_field::bytes_needed(blocks.cells({0, 0, 0}).size, o.steps);
}

imbrex::task<> deep_steps::advance(imbrex::stream_set* streams, int steps, int) {
  imbrex::stream_set& s = *streams;
  auto begun = halos_.begin(s.pack);
  co_await begun;
  for (int i = 0; i < halos_.size(); ++i) {
    s.pack.call("pack", [this, d = around_[static_cast<std::size_t>(i)].offset, to = halos_.out(i).data] {
      field_.pack(d, to);
    });
  }
  halos_.send(s.pack);
  auto received = halos_.receive(s.compute);
  co_await received;
  for (int i = 0; i < halos_.size(); ++i) {
    s.compute.call("unpack", [this, d = around_[static_cast<std::size_t>(i)].offset, from = halos_.in(i).data] {
      field_.unpack(d, from);
    });
  }
  halos_.release();
  s.compute.call("update", [this, steps] { field_.update(kernel_, steps); });
  s.pack.after(s.compute);
}

void deep_steps::set_initial(const block_place& at) {
  write_initial_state(room(), row_pitch(field_.size().nx), at.given.grid, at.cells, at.given.initial,
                      at.given.boundary);
  field_.set_current(cells_.data());
}

double* deep_steps::room() {
  const extents n = field_.size();
  if (cells_.size() == 0) cells_ = aligned_array(n.nz * n.ny * row_pitch(n.nx));
  return cells_.data();
}

cell_rows deep_steps::current() {
  field_.copy_current(room());
  return {cells_.data(), row_pitch(field_.size().nx)};
}

void deep_steps::add_changes(apps::exact_sum& sum) {
  const cell_rows after = current();
  aligned_array before(cells_.size());
  field_.copy_previous(before.data());
  add_squared_changes(sum, before.data(), after.data, field_.size(), after.pitch);
}

}  // namespace jacobi
