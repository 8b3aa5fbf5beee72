#include "chares/gpu_team.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "chares/chare_block.h"
#include "kernels/gpu_kernels.h"

namespace jacobi {

namespace {

constexpr std::int64_t steps_between_looks = 8;  // at how far the GPU has come

template <class T>
imbrex::task<> to_device(imbrex::buffer<T>& to, std::vector<T> from, imbrex::stream& s) {
  imbrex::buffer<T> staged(s.on(), from.size(), imbrex::memory_kind::pinned);
  std::copy(from.begin(), from.end(), staged.data());
  to = imbrex::buffer<T>(s.on(), from.size());
  imbrex::copy(to.view(), imbrex::buffer_view<const T>(staged), s);
  co_await s.done();
}

}  // namespace

void gpu_share::step(stencil formula, double outside, int parity) {
  gpu_step(*stream, table.data(), {faces.data(), faces.size()}, work, formula, outside, parity);
}

void gpu_share::fetch_ghosts(const decomposition& cut, bool periodic, int parity) {
  const auto& all = this_gpu_directory.blocks;
  for (const std::int64_t n : blocks) {
    const gpu_directory::entry& mine = all[static_cast<std::size_t>(n)];
    const_face_buffers theirs{};
    std::array<gpu_layout, num_faces> layouts{};
    for (const face f : all_faces) {
      const auto p = cut.neighbour(cut.position(n), f, periodic);
      if (!p) continue;
      const gpu_directory::entry& other = all[static_cast<std::size_t>(cut.number(*p))];
      theirs[static_cast<std::size_t>(f)] = other.fields[parity];
      layouts[static_cast<std::size_t>(f)] = other.layout;
    }
    gpu_copy_ghosts(*stream, mine.layout, mine.fields[parity], theirs, layouts);
  }
}

gpu_team::gpu_team()
    : options_(*this_job.given),
      strategy_(gpu_strategy::of(options_, rt())),
      cut_(decomposition::of_least_surface(options_.grid, chare_count(options_, rt().num_pes()), gpu_x_face_weight)) {}

gpu_share gpu_team::make_share(int gpu) const {
  gpu_share share;
  share.gpu = gpu;
  share.device = &rt().gpu(gpu);
  share.stream = share.device->make_stream(imbrex::stream_priority::low, fmt::format("the stream of GPU {}", gpu));
  return share;
}

imbrex::task<> gpu_team::build(std::vector<std::int64_t> lengths) {
  const bool leads = strategy_.graph ? pe() == 0 : [&] {
    for (imbrex::pe_id p = 0; p < pe(); ++p) {
      if (rt().gpu_of(p) == rt().gpu_of(pe())) return false;
    }
    return true;
  }();
  if (leads && shares_.empty()) {
    for (int g = 0; g < rt().num_gpus(); ++g) {
      if (strategy_.graph || g == rt().gpu_of(pe())) shares_.push_back(make_share(g));
    }
    for (gpu_share& share : shares_) {
      auto gathered = gather(share);
      co_await gathered;
    }
    if (strategy_.graph) {
      make_graphs(lengths);
    } else {
      connect();
    }
  }
  for (gpu_share& share : shares_) {
    share.fetch_ghosts(cut_, options_.boundary.periodic, this_gpu_directory.parity);
    co_await share.stream->done();
  }
  contribute(0, imbrex::sum);
}

/// Captures what runs of these lengths need, so that no timed run has to.
void gpu_team::make_graphs(const std::vector<std::int64_t>& lengths) {
  for (const std::int64_t n : lengths) {
    for (const int parity : {0, 1}) {
      if (n > 0) graph_of(std::min(n, most_in_a_graph), parity);
      if (n % most_in_a_graph != 0) graph_of(n % most_in_a_graph, parity);
    }
  }
}

/// The table of the blocks of a GPU, with their neighbours wherever these are.
imbrex::task<> gpu_team::gather(gpu_share& share) {
  const auto& all = this_gpu_directory.blocks;
  std::vector<gpu_block_entry> blocks;
  std::set<int> touched;
  for (std::int64_t n = 0; n < cut_.num_blocks(); ++n) {
    const gpu_directory::entry& mine = all[static_cast<std::size_t>(n)];
    if (rt().gpu_of(mine.pe) != share.gpu) continue;
    gpu_block_entry e{mine.layout, {mine.fields[0], mine.fields[1]}, {}};
    for (const face f : all_faces) {
      const auto p = cut_.neighbour(cut_.position(n), f, options_.boundary.periodic);
      if (!p) continue;
      const gpu_directory::entry& theirs = all[static_cast<std::size_t>(cut_.number(*p))];
      e.neighbours[static_cast<int>(f)] = gpu_neighbour::at(f, theirs.layout, theirs.fields[0], theirs.fields[1]);
      touched.insert(rt().gpu_of(theirs.pe));
    }
    share.blocks.push_back(n);
    blocks.push_back(e);
  }
  touched.erase(share.gpu);
  share.neighbours.assign(touched.begin(), touched.end());
  for (const int other : share.neighbours) {
    if (!share.device->reaches(rt().gpu(other)))
      throw imbrex::usage_error(fmt::format(
          "--fusion D stores into the neighbours' memory, but GPU {} does not reach that of GPU {}: use --fusion C",
          share.gpu, other));
  }
  if (blocks.empty()) co_return;  // fewer blocks than GPUs
  auto uploaded = upload(share, std::move(blocks));
  co_await uploaded;
}

imbrex::task<> gpu_team::upload(gpu_share& share, std::vector<gpu_block_entry> blocks) {
  share.work = gpu_work_list::of(blocks);
  auto table = to_device(share.table, std::move(blocks), *share.stream);
  co_await table;
  auto faces = to_device(share.faces, share.work.faces, *share.stream);
  co_await faces;
}

// ------------------------------------------------------------------------------------------------ by events

/// Channels to the first PEs of the neighbouring GPUs, whose ports are the GPUs' numbers.
void gpu_team::connect() {
  const gpu_share& mine = shares_[0];
  for (const int other : mine.neighbours) {
    imbrex::pe_id lead = 0;
    while (rt().gpu_of(lead) != other) ++lead;
    channels_.emplace_back(*this, array()[imbrex::index1d(lead)], other, mine.gpu, imbrex::memory_kind::device);
  }
  const imbrex::buffer_view<const double> nothing(nullptr, 0, imbrex::memory_kind::device);
  for (auto& c : channels_) c.send(nothing, *mine.stream);  // the state before the first iteration
}

imbrex::task<> gpu_team::iterate_by_events(std::int64_t iterations, int parity) {
  gpu_share& mine = shares_[0];
  imbrex::stream& s = *mine.stream;
  for (std::int64_t i = 0; i < iterations; ++i) {
    // Messages without data: what follows on the stream waits for the sender's kernel of the iteration before.
    for (auto& c : channels_) co_await c.recv(imbrex::buffer_view<double>(nullptr, 0, imbrex::memory_kind::device), s);
    mine.step(options_.formula, options_.boundary.value, parity);
    parity ^= 1;
    const imbrex::buffer_view<const double> nothing(nullptr, 0, imbrex::memory_kind::device);
    for (auto& c : channels_) c.send(nothing, s);
    if (i % steps_between_looks == 0) co_await ahead_.step(s);
  }
  co_await s.done();
}

// ------------------------------------------------------------------------------------------------ by graphs

/// So many iterations on all GPUs, linked by events, from the first share's stream and back to it.
void gpu_team::enqueue_all(std::int64_t iterations, int parity) {
  const std::size_t n = shares_.size();
  std::vector<imbrex::event> before(n, shares_[0].stream->record());
  std::vector<imbrex::event> after(n);
  for (std::size_t g = 1; g < n; ++g) shares_[g].stream->wait(before[0]);
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (std::size_t g = 0; g < n; ++g) {
      gpu_share& share = shares_[g];
      if (i > 0) {
        for (const int other : share.neighbours) share.stream->wait(before[static_cast<std::size_t>(other)]);
      }
      share.step(options_.formula, options_.boundary.value, parity);
      after[g] = share.stream->record();
    }
    std::swap(before, after);
    parity ^= 1;
  }
  for (std::size_t g = 1; g < n; ++g) shares_[0].stream->wait(before[g]);
}

imbrex::graph& gpu_team::graph_of(std::int64_t iterations, int parity) {
  auto& g = graphs_[{iterations, parity}];
  if (g == nullptr) g = shares_[0].stream->capture([&] { enqueue_all(iterations, parity); });
  return *g;
}

imbrex::task<> gpu_team::iterate_by_graphs(std::int64_t iterations, int parity) {
  imbrex::stream& s = *shares_[0].stream;
  while (iterations > 0) {
    const std::int64_t some = std::min(iterations, most_in_a_graph);
    s.run(graph_of(some, parity));
    iterations -= some;
    parity ^= static_cast<int>(some % 2);
    co_await ahead_.step(s);
  }
  co_await s.done();
}

imbrex::task<> gpu_team::iterate(std::int64_t iterations, int parity) {
  if (!shares_.empty()) {
    if (strategy_.graph) {
      co_await iterate_by_graphs(iterations, parity);
    } else {
      co_await iterate_by_events(iterations, parity);
    }
  }
  contribute(0, imbrex::sum);
}

}  // namespace jacobi
