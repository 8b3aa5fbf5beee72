#include "tasks/hetero_field.h"

#include <algorithm>

#include "field/aligned_array.h"
#include "field/change_sum.h"
#include "tasks/hetero_update.hk"

namespace jacobi {

namespace ix = imbrex;

namespace {

constexpr std::int64_t tile_bytes = std::int64_t{256} * 1024;  // of three planes of a host's tile: in its cache
constexpr std::int64_t most_groups = 65535;                    // in y and z, on CUDA

std::size_t number(face f) { return static_cast<std::size_t>(f); }

std::size_t face_cells(extents size, face f) {
  const auto side = static_cast<int>(f) / 2;
  const std::int64_t cells = side == 0 ? size.ny * size.nz : side == 1 ? size.nx * size.nz : size.nx * size.ny;
  return static_cast<std::size_t>(cells);
}

std::size_t largest_face(extents size) {
  std::size_t most = 0;
  for (const face f : all_faces) most = std::max(most, face_cells(size, f));
  return most;
}

std::size_t doubles_of_field(extents size, std::int64_t front) {
  return static_cast<std::size_t>(size.ny * size.nz * row_pitch(size.nx) + 2 * front);
}

unsigned groups(std::int64_t items, std::int64_t of_each) {
  return static_cast<unsigned>((items + of_each - 1) / of_each);
}

}  // namespace

hetero_field::hetero_field(extents size, face_set neighbours, const options& o, ix::device& where, bool streaming)
    : size_(size),
      pitch_(row_pitch(size.nx)),
      neighbours_(neighbours),
      formula_(o.formula),
      where_(where),
      streaming_(streaming),
      field_(doubles_of_field(size, front)),
      next_(doubles_of_field(size, front)),
      outside_(largest_face(size)),
      nowhere_(largest_face(size)) {
  static_assert(front == JACOBI3D_FRONT);
  auto fill = [](std::span<double> all, double value) { std::ranges::fill(all, value); };
  ix::submit({.name = "outside"}, fill, ix::write(outside_), o.boundary.value);
  ix::submit({.name = "nowhere"}, fill, ix::write(nowhere_), 0.0);
}

std::uint64_t hetero_field::bytes_needed(extents size) {
  std::size_t doubles = 2 * doubles_of_field(size, front) + 2 * largest_face(size);
  for (const face f : all_faces) doubles += 3 * face_cells(size, f);
  return doubles * sizeof(double);
}

jacobi3d_block hetero_field::arguments() const {
  const ix::launch_shape s = shape(1);
  jacobi3d_block b{};
  b.nx = static_cast<int>(size_.nx);
  b.ny = static_cast<int>(size_.ny);
  b.nz = static_cast<int>(size_.nz);
  b.pitch = static_cast<int>(pitch_);
  b.rows = static_cast<int>((size_.ny + s.groups.y - 1) / s.groups.y);
  b.planes = static_cast<int>((size_.nz + s.groups.z - 1) / s.groups.z);
  b.neighbours = static_cast<int>(neighbours_.bits);
  b.streaming = streaming_ ? 1 : 0;
  b.weighted = formula_.weighted ? 1 : 0;
  b.alpha = formula_.alpha;
  b.beta = formula_.beta;
  return b;
}

/// On the host long loops over x, in tiles of rows that pass through all planes; on GPUs pairs of cells in a few rows,
/// and some planes of them.
/// `cells_of_item` in x on GPUs.
ix::launch_shape hetero_field::shape(unsigned cells_of_item) const {
  if (where_.kind() == ix::device_kind::host) {
    const std::int64_t fitting = tile_bytes / (3 * pitch_ * static_cast<std::int64_t>(sizeof(double)));
    const auto x = static_cast<unsigned>(std::min<std::int64_t>(size_.nx, ix::launch_shape::max_items));
    return {.groups = {groups(size_.nx, x), groups(size_.ny, std::max<std::int64_t>(fitting, 8))},
            .group = {x},
            .shared_bytes = x * sizeof(double)};
  }
  constexpr unsigned x = JACOBI3D_TILE_X, y = JACOBI3D_TILE_Y;
  const std::int64_t most_planes = size_.cells() < (std::int64_t{1} << 28) ? 8 : 16;  // measured: 512^3, 768^3, H200
  const std::int64_t planes = std::max<std::int64_t>(most_planes, groups(size_.nz, most_groups));
  const std::int64_t rows = std::max<std::int64_t>(y, groups(size_.ny, most_groups));
  return {.groups = {groups(size_.nx, cells_of_item * x), groups(size_.ny, rows), groups(size_.nz, planes)},
          .group = {x, y}};
}

ix::task_options hetero_field::task(ix::task_name name) const {
  return {.name = name, .on = where_.kind(), .number = where_.kind() == ix::device_kind::host ? -1 : where_.number()};
}

void hetero_field::make_missing(faces& some) const {
  for (const face f : all_faces) {
    ix::hetero_object<double>& o = some[number(f)];
    if (neighbours_.has(f) && !o.exists()) o = ix::hetero_object<double>(face_cells(size_, f));
    if (!neighbours_.has(f)) o = nowhere_;
  }
}

void hetero_field::pack() {
  make_missing(outgoing_);
  const faces& o = outgoing_;
  ix::submit(task("pack"), jacobi3d_pack, shape(1), arguments(), field_, ix::write(o[0]), ix::write(o[1]),
             ix::write(o[2]), ix::write(o[3]), ix::write(o[4]), ix::write(o[5]));
}

ix::hetero_task hetero_field::update(faces&& arrived) {
  faces in = std::move(arrived);
  for (const face f : all_faces) {
    if (!neighbours_.has(f)) in[number(f)] = outside_;
  }
  outgoing_ = std::exchange(spare_, {});
  make_missing(outgoing_);
  const faces& o = outgoing_;
  const auto& kernel = where_.kind() == ix::device_kind::host ? jacobi3d_update : jacobi3d_update_tiles;
  ix::hetero_task t =
      ix::submit(task("update"), kernel, shape(2), arguments(), field_, in[0], in[1], in[2], in[3], in[4], in[5], next_,
                 ix::write(o[0]), ix::write(o[1]), ix::write(o[2]), ix::write(o[3]), ix::write(o[4]), ix::write(o[5]));
  std::swap(field_, next_);
  for (const face f : all_faces) {
    if (neighbours_.has(f)) spare_[number(f)] = std::move(in[number(f)]);
  }
  return t;
}

ix::hetero_object<std::int64_t> hetero_field::squared_changes() {
  ix::hetero_object<std::int64_t> limbs(apps::exact_sum::num_limbs);
  auto add_up = [size = size_, pitch = pitch_](std::span<const double> before, std::span<const double> after,
                                               std::span<std::int64_t> result) {
    apps::exact_sum sum;
    add_squared_changes(sum, before.data() + front, after.data() + front, size, pitch);
    std::ranges::copy(sum.limbs(), result.begin());
  };
  ix::submit({.name = "change"}, add_up, next_, field_, ix::write(limbs));
  return limbs;
}

}  // namespace jacobi
