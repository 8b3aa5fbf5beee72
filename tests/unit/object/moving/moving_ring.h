#pragma once

#include <imbrex/imbrex.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// A ring of chares with open channels that move all the time, from PE to PE and from process to process.
namespace imbrex_test {

namespace ix = imbrex;

/// How the channels of a chare that has come to another process are opened again.
enum class opening { by_constructor, by_serialize, by_coroutine };

/// Each sends to both neighbours in each step, and receives what they send: messages of all sizes, in order. At the end
/// of a step, where it may move, the memory of its last messages is still lent. `H` is how it opens its channels.
template <opening H>
class moving_ring : public ix::chare<moving_ring<H>, ix::index1d> {
 public:
  moving_ring() {
    if (H == opening::by_constructor) open();
  }
  /// `how_often`: it moves after one of so many steps.
  void prepare(int num_steps, std::uint64_t seed, int how_often) {
    num_steps_ = num_steps;
    seed_ = seed;
    how_often_ = how_often;
    if (H == opening::by_serialize) open();
  }
  ix::task<int> run() {
    ++calls_;
    if (H == opening::by_coroutine) open();
    ix::stream_set& s = this->streams();
    std::array<std::array<std::vector<int>, 2>, 2> out;  // by parity of the step, and side
    std::array<std::array<std::optional<ix::channel_send>, 2>, 2> sent;
    std::vector<int> in(most_elements);
    while (step_ < num_steps_) {
      const auto parity = static_cast<std::size_t>(step_ % 2);
      for (std::size_t side = 0; side < 2; ++side) {
        if (sent[parity][side]) co_await *sent[parity][side];
        std::vector<int>& values = out[parity][side];
        values.assign(length(number(), step_), word(number(), step_, side));
        sent[parity][side].emplace(to_[side].send(ix::buffer_view<const int>(values), s.pack));
      }
      for (std::size_t side = 0; side < 2; ++side) {
        const int from = neighbour(1 - side);  // who sends to its side `side`
        if (random(7 + side) % 2 == 0) {
          ix::received<int> r = co_await from_[side].borrow();
          check(r.data(), r.size(), from, side);
        } else {
          const std::size_t n = co_await from_[side].recv(ix::buffer_view<int>(in), s.unpack);
          co_await s.unpack.done();
          check(in.data(), n, from, side);
        }
      }
      ++step_;
      if (random(3) % static_cast<std::uint64_t>(how_often_) == 0)
        this->migrate_to(static_cast<int>(random(4) % static_cast<std::uint64_t>(this->num_pes())));
      co_await ix::move_point(*this);
    }
    for (auto& of_parity : sent) {
      for (auto& one : of_parity) {
        if (one) co_await *one;
      }
    }
    co_return errors_;
  }
  using restartable = ix::entry_list<&moving_ring::run>;

  void has_moved(ix::pe_id from) {
    ++moves_;
    const int pes = this->rt().pes_per_rank();
    crossings_ += from / pes != this->pe() / pes;
  }
  /// How often it moved, crossed processes, and its coroutine was called.
  std::vector<int> counts() { return {moves_, crossings_, calls_}; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & num_steps_ & seed_ & how_often_ & step_ & errors_ & moves_ & crossings_ & calls_;
    if constexpr (H == opening::by_serialize) ar & to_ & from_;
  }

 private:
  static constexpr std::size_t most_elements = 6000;  // 24 kB: apart from their messages

  int number() const { return this->index().x; }
  int size() const { return this->extent().x; }
  /// 0: the one before, 1: the one after.
  int neighbour(std::size_t side) const { return (number() + (side == 0 ? size() - 1 : 1)) % size(); }
  void open() {
    for (std::size_t side = 0; side < 2; ++side) {
      // What goes to side 1 comes from the receiver's side 0, and is its `from_[1]`.
      const int port = static_cast<int>(side);
      to_[side] = ix::channel<int>(*this, this->array()[neighbour(side)], port, 2 + port);
      from_[side] = ix::channel<int>(*this, this->array()[neighbour(1 - side)], 2 + port, port);
    }
  }
  std::uint64_t random(std::uint64_t what) const {
    return ix::mix(ix::mix(seed_ + what) + static_cast<std::uint64_t>(1000 * number() + step_)) >> 8;
  }
  std::size_t length(int who, int step) const {
    const std::uint64_t r = ix::mix(seed_ + static_cast<std::uint64_t>(97 * who + step)) >> 8;
    return 1 + r % (r % 3 == 0 ? most_elements : 100);
  }
  static int word(int who, int step, std::size_t side) { return 10000 * who + 2 * step + static_cast<int>(side); }
  void check(const int* values, std::size_t n, int from, std::size_t side) {
    const int expected = word(from, step_, side);
    errors_ += n != length(from, step_) || std::any_of(values, values + n, [=](int v) { return v != expected; });
  }

  int num_steps_ = 0, how_often_ = 1;
  std::uint64_t seed_ = 0;
  int step_ = 0, errors_ = 0, moves_ = 0, crossings_ = 0, calls_ = 0;
  std::array<ix::channel<int>, 2> to_, from_;
};

/// What all elements of a ring have counted.
struct ring_counts {
  int errors = 0, moves = 0, crossings = 0, calls = 0;
};

template <class Ring>
ix::task<ring_counts> go_round(ix::array_proxy<Ring> ring, int n, int num_steps, std::uint64_t seed, int how_often) {
  ring.template broadcast<&Ring::prepare>(num_steps, seed, how_often);
  using call = decltype(ring[0].template call<&Ring::run>());
  std::vector<call> calls;
  calls.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) calls.push_back(ring[i].template call<&Ring::run>());
  auto all = ix::when_all(std::move(calls));
  ring_counts sum;
  for (const int errors : co_await std::move(all)) sum.errors += errors;
  for (int i = 0; i < n; ++i) {
    auto asked = ring[i].template call<&Ring::counts>();
    const std::vector<int> c = co_await std::move(asked);
    sum.moves += c[0];
    sum.crossings += c[1];
    sum.calls += c[2];
  }
  co_return sum;
}

}  // namespace imbrex_test
