#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "imbrex/hetero/tasks/hetero_domain.h"
#include "matrix.h"
#include "tile_order.h"

namespace tiled_dgemm {

namespace ix = imbrex;
using object = ix::hetero_object<double>;

/// What the PEs multiply, and how.
struct assignment {
  std::int32_t n = 0;
  std::int32_t tile = 0;
  std::int32_t pes = 1;  ///< that take part: the first ones
  std::int32_t gpus = 0;
  bool library = false;
  bool on_host = true;
  bool on_devices = false;
  bool resident = false;
  double host_share = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & n & tile & pes & gpus & library & on_host & on_devices & resident & host_share;
  }
};

/// From when to when, by `now_ns`.
struct time_span {
  std::int64_t began = 0;
  std::int64_t ended = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & began & ended;
  }
};

/// One on each PE: some rows of tiles of C and of A, and all of B, as objects of that PE, since tasks of the host run
/// on the PE that submitted them. C_ij is a chain of tasks over k. With devices alone that C fits into, all tiles of C
/// go on together, k by k: an input is used for all of them as soon as it has come. Else one chain follows the other.
class tile_worker : public ix::chare<tile_worker, ix::index1d> {
 public:
  /// Makes the tiles, and the product once.
  ix::task<> prepare(assignment a);
  ix::task<time_span> multiply();
  /// How many rows of this PE's part of C are wrong.
  ix::task<int> check();
  ix::task<> close();

 private:
  std::vector<ix::device*> dealt() const;
  object make_tile(int which, int row, int column) const;
  void take_inputs_away() const;
  bool for_host(std::size_t chain) const;
  ix::task_options where_to(int i, int j) const;
  ix::hetero_task submit_chain(int i, int j, int priority) const;
  bool fits_devices() const;
  ix::task<> multiply_by_chains() const;
  ix::task<> multiply_together() const;
  template <class C>
  ix::hetero_task submit_tile(const ix::task_options& where, bool on_host, int accumulate, const object& a,
                              const object& b, const C& c) const;
  const object& a(int i, int k) const { return a_[static_cast<std::size_t>(i * tiles_ + k)]; }
  const object& b(int k, int j) const { return b_[static_cast<std::size_t>(k * tiles_ + j)]; }
  const object& c(int i, int j) const { return c_[static_cast<std::size_t>(i * tiles_ + j)]; }

  assignment now_;
  int tiles_ = 0;  ///< in a row of all matrices
  int first_row_ = 0, num_rows_ = 0;
  std::vector<ix::device*> devices_;
  tile_blocks blocks_{1, 1, 1};  ///< of this PE's part of C, over its devices
  std::unique_ptr<ix::hetero_domain> domain_;
  std::vector<object> a_, b_, c_;
  std::unique_ptr<dgemm::product_check> check_;
};

}  // namespace tiled_dgemm
