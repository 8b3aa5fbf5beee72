#include "chares/chare_single_steps.h"

#include <span>

#include "field/initial_state.h"

namespace jacobi {

namespace {

/// Lets the kernel read a neighbour's values where they are.
void read_ghost_at(block_view& view, face f, const double* values) {
  const auto side = static_cast<std::size_t>(f) % 2;
  switch (f) {
    case face::xlo:
    case face::xhi: view.ghost_x[side] = values; break;
    case face::ylo:
    case face::yhi:
      view.ghost_y[side] = values;
      view.ghost_y_stride[side] = view.pitch;
      break;
    case face::zlo:
    case face::zhi: view.ghost_z[side] = values; break;
  }
}

}  // namespace

imbrex::task<> single_steps::advance(imbrex::stream_set* streams, int, int num_passes) {
  imbrex::stream_set& s = *streams;
  auto begun = faces_.begin(s.pack);
  co_await begun;
  int i = 0;
  for (const face f : neighbours_) {
    const std::span<const double> values = field_.outgoing(f);
    faces_.send(i++, {values.data(), values.size(), imbrex::memory_kind::host}, s.pack);
  }
  faces_.send(s.pack);  // nothing waits
  auto received = faces_.receive(s.compute);
  co_await received;  // another block runs meanwhile
  block_view view = field_.view();
  i = 0;
  for (const face f : neighbours_) read_ghost_at(view, f, faces_.in(i++).data);
  s.compute.call("update", [kernel = &kernel_, view, num_passes] {
    for (int pass = 0; pass < num_passes; ++pass) kernel->update(view);
  });
  faces_.release();
  field_.advance();
  s.pack.after(s.compute);
}

void single_steps::set_initial(const block_place& at) {
  field_.reset_ghosts(at.given.boundary.value);
  set_initial_state(field_, at.given.grid, at.cells, at.given.initial, at.given.boundary);
}

}  // namespace jacobi
