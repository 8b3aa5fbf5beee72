#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <cstdint>

#include "decomposition.h"
#include "kernels/kernel.h"
#include "options.h"
#include "support/exact_sum.h"

struct jacobi3d_block;

namespace jacobi {

/// The memory of one block as objects, and the tasks that work on them, by the kernels of hetero_update.hk: the current
/// and the next field, the faces that go to the neighbours and those that have come. Every method submits and returns;
/// what has to wait for what follows from the objects. All tasks run on one device, where the data then stay.
///
/// Faces that have come are written over once they have been read, and are the faces to go in the iteration after
/// next: between blocks of one PE the same few objects go to and fro.
class hetero_field {
 public:
  using faces = std::array<imbrex::hetero_object<double>, num_faces>;

  /// Undefined before somebody has set both fields. `neighbours` are the sides to which faces come; `streaming`: on the
  /// host the fields exceed the caches.
  hetero_field(extents size, face_set neighbours, const options& o, imbrex::device& where, bool streaming);

  /// \name A field on the host: rows of `size().nx` doubles from `first_row` of the view on, `pitch()` doubles apart
  ///@{
  template <imbrex::access_mode::kind Mode>
  auto current(imbrex::access_mode::constant<Mode> mode) const {
    return field_.host(mode);
  }
  template <imbrex::access_mode::kind Mode>
  auto next(imbrex::access_mode::constant<Mode> mode) const {
    return next_.host(mode);
  }
  template <class View>
  static auto* first_row(const View& v) {
    return v.data() + front;
  }
  std::int64_t pitch() const { return pitch_; }
  extents size() const { return size_; }
  ///@}

  /// Makes the outgoing faces of the current field, which no update has made.
  void pack();
  /// The outgoing face of the current field on a side with a neighbour. Once.
  imbrex::hetero_object<double> take(face f) { return std::move(outgoing_[static_cast<std::size_t>(f)]); }
  /// One iteration, given what the neighbours' `take` gave.
  imbrex::hetero_task update(faces&& arrived);
  /// The limbs of the sum of the squared changes of the last iteration. (Up to 2^30 to be added up.)
  imbrex::hetero_object<std::int64_t> squared_changes();

  /// Bytes of one block at one place.
  static std::uint64_t bytes_needed(extents size);

 private:
  static constexpr std::int64_t front = 8;  ///< doubles before the first row, and behind the last

  jacobi3d_block arguments() const;
  imbrex::launch_shape shape(unsigned cells_of_item) const;
  imbrex::task_options task(imbrex::task_name name) const;
  void make_missing(faces& some) const;

  const extents size_;
  const std::int64_t pitch_;
  const face_set neighbours_;
  const stencil formula_;
  imbrex::device& where_;
  const bool streaming_;
  imbrex::hetero_object<double> field_, next_;
  imbrex::hetero_object<double> outside_;  ///< what stands beyond the sides without neighbours
  /// Stands for faces that are not written. As large as one, and filled, all the same: a vector's stores that a mask
  /// keeps from happening take hundreds of times longer where no page is mapped.
  imbrex::hetero_object<double> nowhere_;
  faces outgoing_;
  faces spare_;
};

}  // namespace jacobi
