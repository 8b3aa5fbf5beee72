#pragma once

#include <imbrex/imbrex.h>

#include <vector>

#include "chares/block_place.h"
#include "field/block_field.h"
#include "field/change_sum.h"
#include "kernels/kernel.h"
#include "support/exact_sum.h"

namespace jacobi {

/// An exchange before each iteration, of six faces without a copy: the neighbours read the field itself, or what the
/// kernel has packed on the way (see block_field.h).
class single_steps {
 public:
  /// `self`: the chare.
  template <class Chare>
  single_steps(Chare& self, const block_place& at)
      : field_(at.cells.size, at.given.boundary.value), kernel_(at.given.formula, at.policy) {
    for (const face f : all_faces) {
      const auto n = at.blocks.neighbour(at.position, f, at.given.boundary.periodic);
      if (!n) continue;
      neighbours_.push_back(f);
      faces_.connect(self, self.array()[imbrex::index3d{n->x, n->y, n->z}], static_cast<int>(f),
                     static_cast<int>(opposite(f)), 0);  // what is sent is memory of the field
    }
  }

  /// Enqueues an iteration, whose kernel runs `num_passes` times; waits only until the neighbours' faces have come.
  imbrex::task<> advance(imbrex::stream_set* streams, int steps, int num_passes);
  void set_initial(const block_place& at);
  cell_rows current() { return {field_.current(), field_.pitch()}; }
  /// Adds the squares of the changes of the last iteration; once its kernel has run.
  void add_changes(apps::exact_sum& sum) {
    add_squared_changes(sum, field_.previous(), field_.current(), field_.size(), field_.pitch());
  }
  template <class Archive>
  void serialize(Archive& ar) {
    field_.serialize_current(ar);
  }

 private:
  block_field field_;
  update_kernel kernel_;
  std::vector<face> neighbours_;
  imbrex::halo<double> faces_;
};

}  // namespace jacobi
