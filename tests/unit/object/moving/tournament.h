#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <utility>
#include <vector>

/// Players who meet one after another, each time by a channel that is made for it, at one port, while they move from PE
/// to PE and from process to process.
namespace imbrex_test {

namespace ix = imbrex;

/// One of an even number. Nobody waits for those whom it does not play against, so that some are rounds ahead.
class player : public ix::chare<player, ix::index1d> {
 public:
  /// `one_partner`: in each round the same.
  void prepare(int num_rounds, std::uint64_t seed, bool one_partner) {
    num_rounds_ = num_rounds;
    seed_ = seed;
    one_partner_ = one_partner;
  }
  ix::task<int> play() {
    while (round_ < num_rounds_) {
      co_await exchange();
      ++round_;
      if (random(1) % 3 == 0) migrate_to(static_cast<int>(random(2) % static_cast<std::uint64_t>(num_pes())));
      co_await ix::move_point(*this);
    }
    co_return errors_;
  }
  using restartable = ix::entry_list<&player::play>;

  void has_moved(ix::pe_id from) { crossings_ += from / rt().pes_per_rank() != pe() / rt().pes_per_rank(); }
  int crossings() { return crossings_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & num_rounds_ & seed_ & one_partner_ & round_ & errors_ & crossings_;
  }

 private:
  static constexpr int port = 3;

  ix::task<> exchange() {
    const int other = opponent();
    ix::channel<int> c(*this, array()[other], port, port);
    if (random(3) % 4 == 0) migrate_to(static_cast<int>(random(4) % static_cast<std::uint64_t>(num_pes())));
    std::vector<int> out(length(index().x), word(index().x)), in(6000);
    const auto sent = c.send(ix::buffer_view<const int>(out), streams().pack);
    const std::size_t n = co_await c.recv(ix::buffer_view<int>(in), streams().unpack);
    co_await streams().unpack.done();
    co_await sent;
    errors_ += n != length(other) || in[0] != word(other) || in[n - 1] != word(other);
  }
  /// Each meets each other in as many rounds as there are others.
  int opponent() const {
    const int me = index().x, last = extent().x - 1;
    if (one_partner_) return me ^ 1;
    const int r = round_ % last;
    if (me == last) return r * (last + 1) / 2 % last;
    const int other = (r + last - me) % last;
    return other == me ? last : other;
  }
  std::uint64_t random(std::uint64_t what) const {
    return ix::mix(ix::mix(seed_ + what) + static_cast<std::uint64_t>(1000 * index().x + round_)) >> 8;
  }
  std::size_t length(int who) const {
    const std::uint64_t r = ix::mix(seed_ + static_cast<std::uint64_t>(97 * who + round_)) >> 8;
    return 1 + r % (r % 2 == 0 ? 6000 : 100);  // 24 kB: apart from their messages
  }
  int word(int who) const { return 1000 * round_ + who; }

  int num_rounds_ = 0;
  std::uint64_t seed_ = 0;
  bool one_partner_ = false;
  int round_ = 0, errors_ = 0, crossings_ = 0;
};

struct tournament_counts {
  int errors = 0, crossings = 0;
};

inline ix::task<tournament_counts> play_all(ix::array_proxy<player> players, int n, int num_rounds, std::uint64_t seed,
                                            bool one_partner) {
  players.broadcast<&player::prepare>(num_rounds, seed, one_partner);
  std::vector<decltype(players[0].call<&player::play>())> calls;
  for (int i = 0; i < n; ++i) calls.push_back(players[i].call<&player::play>());
  auto all = ix::when_all(std::move(calls));
  tournament_counts sum;
  for (const int errors : co_await std::move(all)) sum.errors += errors;
  for (int i = 0; i < n; ++i) {
    auto asked = players[i].call<&player::crossings>();
    sum.crossings += co_await std::move(asked);
  }
  co_return sum;
}

}  // namespace imbrex_test
