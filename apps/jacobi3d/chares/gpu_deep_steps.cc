#include "chares/gpu_deep_steps.h"

#include <algorithm>

namespace jacobi {

std::int64_t gpu_deep_steps::halo_doubles(const gpu_layout& layout) {
  const extents& n = layout.size;
  const std::int64_t around = 2 * layout.depth;
  return (n.nx + around) * (n.ny + around) * (n.nz + around) - n.cells();
}

imbrex::star_grid gpu_deep_steps::grid_of(const gpu_layout& layout, const open_sides& open, double outside) {
  imbrex::star_grid g;
  g.nx = static_cast<int>(layout.size.nx);
  g.ny = static_cast<int>(layout.size.ny);
  g.nz = static_cast<int>(layout.size.nz);
  g.pitch = layout.pitch;
  g.plane = layout.plane;
  std::ranges::copy(open, g.open);
  g.outside = outside;
  return g;
}

void gpu_deep_steps::pack(imbrex::stream& s, const double* field) {
  std::vector<imbrex::star_halo> halos;
  halos.reserve(around_.size());
  for (int i = 0; i < halos_.size(); ++i)
    halos.push_back({around_[static_cast<std::size_t>(i)].offset, halos_.out(i).data});
  gpu_pack_deep(s, grid_, layout_, field, halos);
}

void gpu_deep_steps::unpack(imbrex::stream& s, double* field) {
  std::vector<imbrex::star_halo> halos;
  halos.reserve(around_.size());
  for (int i = 0; i < halos_.size(); ++i)  // which are only read
    halos.push_back({around_[static_cast<std::size_t>(i)].offset, const_cast<double*>(halos_.in(i).data)});
  gpu_unpack_deep(s, grid_, layout_, field, halos);
}

void gpu_deep_steps::compute(imbrex::stream& s, const std::array<double*, 2>& fields, int* parity, int steps,
                             bool keeps_previous) const {
  const auto now = static_cast<std::size_t>(*parity);
  double* const result =
      gpu_several_steps(s, grid_, layout_, formula_, fields[now], fields[now ^ 1], steps, keeps_previous);
  *parity = result == fields[0] ? 0 : 1;
}

imbrex::task<> gpu_deep_steps::advance(imbrex::stream* s, std::array<double*, 2> fields, int* parity, int steps,
                                       bool keeps_previous) {
  auto begun = halos_.begin(*s);
  co_await begun;
  pack(*s, fields[static_cast<std::size_t>(*parity)]);
  halos_.send(*s);
  auto received = halos_.receive(*s);
  co_await received;  // another block runs meanwhile
  unpack(*s, fields[static_cast<std::size_t>(*parity)]);
  halos_.release();
  compute(*s, fields, parity, steps, keeps_previous);
}

}  // namespace jacobi
