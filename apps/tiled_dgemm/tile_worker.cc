#include "tile_worker.h"

#include <deque>

#include "dealt_devices.h"
#include "host_blas.h"
#include "imbrex/base/build_config.h"
#include "support/pe_time.h"
#if TILED_DGEMM_CUBLAS
#include "gpu_blas.h"
#endif

#include "tile_product.hk"

namespace tiled_dgemm {
namespace {

constexpr int tasks_ahead =
    512;  // submitted before the first of them must be over: few enough to stay in a core's cache

void fill(std::uint64_t which, int first_row, int first_column, int tile, std::span<double> to) {
  std::size_t at = 0;
  for (int row = first_row; row < first_row + tile; ++row) {
    for (int column = first_column; column < first_column + tile; ++column)
      to[at++] = dgemm::element(which, static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column));
  }
}

}  // namespace

std::vector<ix::device*> tile_worker::dealt() const {
  std::vector<ix::device*> mine;
  if (!now_.on_devices) return mine;
  for (const int d : dgemm::dealt_devices(index().x, now_.pes, now_.gpus)) mine.push_back(&rt().gpu(d));
  return mine;
}

object tile_worker::make_tile(int which, int row, int column) const {
  const auto elements = static_cast<std::size_t>(now_.tile) * static_cast<std::size_t>(now_.tile);
  object tile(*domain_, elements);
  ix::submit(*domain_, {.name = "input", .on = ix::device_kind::host}, &fill, static_cast<std::uint64_t>(which),
             row * now_.tile, column * now_.tile, now_.tile, write(tile));
  return tile;
}

ix::task<> tile_worker::prepare(assignment a) {
  now_ = a;
  tiles_ = a.n / a.tile;
  first_row_ = dgemm::dealt_first(tiles_, index().x, a.pes);
  num_rows_ = dgemm::dealt_count(tiles_, index().x, a.pes);
  ix::hetero_options how = rt().options().tasks;
  how.sharing = a.pes;
  if (a.on_host && a.on_devices && how.policy == "locality") how.policy = "shortest_finish";
  devices_ = dealt();
  blocks_ = tile_blocks(num_rows_, tiles_, std::max(static_cast<int>(devices_.size()), 1));
  domain_ = std::make_unique<ix::hetero_domain>(ix::scheduler::current(), on_host(), devices_, how);
  a_.reserve(static_cast<std::size_t>(num_rows_ * tiles_));
  c_.reserve(static_cast<std::size_t>(num_rows_ * tiles_));
  b_.reserve(static_cast<std::size_t>(tiles_ * tiles_));
  for (int i = 0; i < num_rows_; ++i) {
    for (int k = 0; k < tiles_; ++k) a_.push_back(make_tile(1, first_row_ + i, k));
    for (int j = 0; j < tiles_; ++j)
      c_.emplace_back(*domain_, static_cast<std::size_t>(a.tile) * static_cast<std::size_t>(a.tile));
  }
  for (int k = 0; k < tiles_; ++k) {
    for (int j = 0; j < tiles_; ++j) b_.push_back(make_tile(2, k, j));
  }
  auto once = multiply();
  co_await once;
}

bool tile_worker::for_host(std::size_t chain) const {
  if (!now_.on_host || !now_.on_devices) return now_.on_host;
  const auto so_far = [&](std::size_t n) { return static_cast<std::size_t>(static_cast<double>(n) * now_.host_share); };
  return so_far(chain + 1) > so_far(chain);
}

template <class C>
ix::hetero_task tile_worker::submit_tile(const ix::task_options& where, bool on_host, int accumulate, const object& a,
                                         const object& b, const C& c) const {
  if (!now_.library) {
    const auto groups = static_cast<unsigned>(now_.tile / 16);
    const ix::launch_shape shape{.groups = {groups, groups}, .group = {16, 16}};
    return ix::submit(*domain_, where, tile_product, shape, now_.tile, accumulate, a, b, c);
  }
  const double beta = accumulate;
#if TILED_DGEMM_CUBLAS
  if (!on_host) return ix::submit(*domain_, where, &cuda_blas_tile, now_.tile, beta, a, b, c);
#endif
  static_cast<void>(on_host);
  return ix::submit(*domain_, where, &host_blas_tile, now_.tile, beta, a, b, c);
}

ix::task_options tile_worker::where_to(int i, int j) const {
  ix::task_options where{.name = "tile"};
  const bool anywhere = now_.on_host && now_.on_devices && !now_.library;
  if (anywhere) return where;
  where.on = ix::device_kind::host;
  if (for_host(static_cast<std::size_t>(i * tiles_ + j))) return where;
  const ix::device& d = *devices_[static_cast<std::size_t>(blocks_.device_of(i, j))];
  where.on = d.kind();
  where.number = d.number();
  return where;
}

/// The sooner a chain was submitted, the sooner its next task runs: so its tile of C stays where it is.
ix::hetero_task tile_worker::submit_chain(int i, int j, int priority) const {
  ix::task_options where = where_to(i, j);
  where.priority = priority;
  const bool host = where.on == ix::device_kind::host;
  ix::hetero_task last = submit_tile(where, host, 0, a(i, 0), b(0, j), write(c(i, j)));
  for (int k = 1; k < tiles_; ++k) last = submit_tile(where, host, 1, a(i, k), b(k, j), c(i, j));
  return last;
}

/// C, and as much again for inputs.
bool tile_worker::fits_devices() const {
  std::vector<std::uint64_t> bytes(devices_.size(), 0);
  for (int i = 0; i < num_rows_; ++i) {
    for (int j = 0; j < tiles_; ++j)
      bytes[static_cast<std::size_t>(blocks_.device_of(i, j))] += sizeof(double) * c(i, j).size();
  }
  for (std::size_t d = 0; d < bytes.size(); ++d) {
    if (bytes[d] > domain_->places()[d + 1]->capacity() / 2) return false;
  }
  return true;
}

void tile_worker::take_inputs_away() const {
  if (now_.resident || !now_.on_devices) return;
  for (const auto* const tiles : {&a_, &b_}) {
    for (const object& o : *tiles) o.evict();
  }
}

ix::task<> tile_worker::multiply_by_chains() const {
  const auto chains_ahead = static_cast<std::size_t>(tasks_ahead / tiles_ + 1);
  std::deque<ix::hetero_task> under_way;
  int priority = 0;
  for (int i = 0; i < num_rows_; ++i) {
    for (int j = 0; j < tiles_; ++j) {
      under_way.push_back(submit_chain(i, j, priority--));
      if (under_way.size() <= chains_ahead) continue;
      co_await under_way.front();
      under_way.pop_front();
    }
  }
  for (const ix::hetero_task& last : under_way) co_await last;
}

ix::task<> tile_worker::multiply_together() const {
  const std::vector<placed_tile> order = blocks_.in_turns();
  std::deque<ix::hetero_task> under_way;
  for (int k = 0; k < tiles_; ++k) {
    for (const placed_tile& t : order) {
      const ix::task_options where = where_to(t.i, t.j);
      under_way.push_back(k == 0 ? submit_tile(where, false, 0, a(t.i, k), b(k, t.j), write(c(t.i, t.j)))
                                 : submit_tile(where, false, 1, a(t.i, k), b(k, t.j), c(t.i, t.j)));
      if (under_way.size() <= static_cast<std::size_t>(tasks_ahead)) continue;
      co_await under_way.front();
      under_way.pop_front();
    }
  }
  for (const ix::hetero_task& last : under_way) co_await last;
}

ix::task<time_span> tile_worker::multiply() {
  take_inputs_away();
  time_span t;
  t.began = apps::pe_time_ns();
  auto all = !now_.on_host && fits_devices() ? multiply_together() : multiply_by_chains();
  co_await all;
  t.ended = apps::pe_time_ns();
  co_return t;
}

ix::task<int> tile_worker::check() {
  if (check_ == nullptr || check_->n() != now_.n) {
    const std::vector<double> whole_a = dgemm::make_matrix(1, now_.n), whole_b = dgemm::make_matrix(2, now_.n);
    check_ = std::make_unique<dgemm::product_check>(now_.n, whole_a.data(), whole_b.data());
  }
  const auto n = static_cast<std::size_t>(now_.n), size = static_cast<std::size_t>(now_.tile);
  int wrong = 0;
  std::vector<double> rows(n * size);
  for (int i = 0; i < num_rows_; ++i) {
    for (int j = 0; j < tiles_; ++j) {
      auto access = c(i, j).host(ix::access_mode::read);
      const auto tile = co_await access;
      for (std::size_t r = 0; r < size; ++r)
        std::copy_n(tile.data() + r * size, size, rows.data() + r * n + static_cast<std::size_t>(j) * size);
    }
    wrong += check_->wrong_rows_from((first_row_ + i) * now_.tile, rows);
  }
  co_return wrong;
}

ix::task<> tile_worker::close() {
  a_.clear();
  b_.clear();
  c_.clear();
  for (const auto& p : domain_->places()) {
    std::vector<ix::lane*> lanes;
    p->for_each_lane([&](ix::lane& l) { lanes.push_back(&l); });
    for (ix::lane* l : lanes) {
      l->flush();
      auto done = (*l)->done();
      co_await done;
    }
  }
#if TILED_DGEMM_CUBLAS
  give_up_cuda_blas();
#endif
  domain_.reset();
}

}  // namespace tiled_dgemm
