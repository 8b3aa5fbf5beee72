#include "chares/gpu_deep_steps.h"

namespace jacobi {

std::int64_t gpu_deep_steps::halo_doubles(const gpu_layout& layout) {
  std::int64_t doubles = 0;
  for (const int x : {-1, 0, 1}) {
    for (const int y : {-1, 0, 1}) {
      for (const int z : {-1, 0, 1}) {
        if (x != 0 || y != 0 || z != 0) doubles += layout.inner_cells({x, y, z}).count();
      }
    }
  }
  return doubles;
}

void gpu_deep_steps::pack(imbrex::stream& s, const double* field) {
  std::vector<gpu_box_copy> boxes;
  for (int i = 0; i < halos_.size(); ++i)
    boxes.push_back({layout_.inner_cells(around_[static_cast<std::size_t>(i)].offset), field, halos_.out(i).data});
  gpu_pack_boxes(s, layout_, boxes);
}

void gpu_deep_steps::unpack(imbrex::stream& s, double* field) {
  std::vector<gpu_box_copy> boxes;
  for (int i = 0; i < halos_.size(); ++i)
    boxes.push_back({layout_.ghost_cells(around_[static_cast<std::size_t>(i)].offset), halos_.in(i).data, field});
  gpu_unpack_boxes(s, layout_, boxes);
}

void gpu_deep_steps::compute(imbrex::stream& s, const std::array<double*, 2>& fields, int* parity, int steps,
                             bool keeps_previous) const {
  const auto now = static_cast<std::size_t>(*parity);
  double* const result =
      gpu_several_steps(s, layout_, formula_, open_, outside_, fields[now], fields[now ^ 1], steps, keeps_previous);
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
