#include <gmock/gmock.h>

#include <span>
#include <string>
#include <vector>

#include "imbrex/base/memory/sanitizer.h"
#include "unit/device/device_bench.h"
#include "unit/object/job.h"

namespace halo_test {

using namespace imbrex;
using namespace imbrex_test;

/// One source for every device and kind of memory: elements of a plate tell their neighbours numbers that name sender,
/// side, round and place, and look at what they hear only at the end: the device is many rounds behind meanwhile.
namespace {

constexpr std::size_t most = any_sanitizer ? 600 : 3000;

struct plan {
  memory_kind kind = memory_kind::device;
  bool diagonal = false, periodic = false;
  bool uneven = false;      // other lengths with each round, none at all among them
  bool agreed = false;      // ... which both sides know
  bool own_memory = false;  // every other neighbour is sent memory of the program's
  halo_path path = halo_path::device;
  bool one_by_one = false;
  bool one_stream = false;  // then what comes says that what went has been read
  bool moves = false;
  int rounds = 7;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & kind & diagonal & periodic & uneven & agreed & own_memory & path & one_by_one & one_stream & moves & rounds;
  }
};

std::uint64_t word(std::uint64_t from, int port, int round, std::size_t k) {
  return (from << 40) | (static_cast<std::uint64_t>(port) << 32) | (static_cast<std::uint64_t>(round) << 20) | k;
}
std::size_t length_of(const plan& p, std::uint64_t from, int port, int round) {
  if (!p.uneven && !p.agreed) return most;
  return (from * 977 + static_cast<std::uint64_t>(port * 331 + round * 1009)) % 4 == 0
             ? 0
             : (from * 131 + static_cast<std::uint64_t>(port * 71 + round * 487)) % most;
}

struct tile : chare<tile, index2d> {
  halo<std::uint64_t> faces;
  buffer<std::uint64_t> mine[2];  // read by the neighbours when the last round has ended here
  plan p;
  int round = 0;
  int wrong = 0;

  void open(plan what) {
    p = what;
    faces = halo<std::uint64_t>(p.kind, p.path);
    for (const auto& n : around()) faces.connect(*this, array(), n, p.agreed ? 0 : most);
  }

  task<> run() {
    const auto all = around();
    const auto num = static_cast<std::size_t>(faces.size());
    const auto num_rounds = static_cast<std::size_t>(p.rounds);
    buffer<std::uint64_t> said(on_device(), num * num_rounds * most + 1, memory_kind::pinned);
    buffer<std::uint64_t> heard(on_device(), num * num_rounds * most + 1, memory_kind::pinned);
    const std::size_t num_own = p.own_memory ? num * most : 1;
    for (auto& m : mine) m = buffer<std::uint64_t>(on_device(), num_own, p.kind);
    std::vector<std::size_t> came(num * num_rounds);
    const int first = round;
    stream& pack = p.one_stream ? streams().compute : streams().pack;
    stream& unpack = p.one_stream ? pack : streams().unpack;
    for (; round < p.rounds; ++round) {
      const auto r = static_cast<std::size_t>(round);
      std::vector<std::size_t> lengths, coming;
      for (const auto& n : all) {
        lengths.push_back(length_of(p, own(), n.port, round));
        coming.push_back(length_of(p, linear(n.index, extent()), n.peer_port, round));
      }
      if (p.agreed) faces.expect(lengths, coming);
      co_await faces.begin(pack);
      for (std::size_t i = 0, before = 0; i < num; before += lengths[i++]) {
        const int k = static_cast<int>(i);
        std::uint64_t* const from = said.data() + (r * num + i) * most;
        for (std::size_t w = 0; w < lengths[i]; ++w) from[w] = word(own(), all[i].port, round, w);
        const bool by_itself = p.own_memory && i % 2 == 0 && lengths[i] > 0;
        std::uint64_t* const to = by_itself ? mine[r % 2].data() + i * most : faces.out(k).data;
        if (p.agreed && faces.out(k).data != faces.out().data + before) ++wrong;
        pack.copy(to, from, lengths[i] * sizeof(std::uint64_t));
        if (by_itself) faces.send(k, mine[r % 2].view().slice(i * most, lengths[i]), pack);
      }
      p.uneven ? faces.send(lengths, pack) : faces.send(pack);
      if (p.one_by_one) {
        for (int i = faces.size() - 1; i > 0; i -= 2) co_await faces.receive(i, unpack);
      }
      co_await faces.receive(unpack);
      for (std::size_t i = 0; i < num; ++i) {
        const auto in = faces.in(static_cast<int>(i));
        came[r * num + i] = in.size;
        unpack.copy(heard.data() + (r * num + i) * most, in.data, in.bytes());
      }
      if (p.path == halo_path::host) {
        streams().compute.after(unpack);
        faces.release(streams().compute);
      } else {
        faces.release();
      }
      if (!p.moves || (round + static_cast<int>(own())) % 3 != 0) continue;
      migrate_to((pe() + 1 + round) % num_pes());
      co_await move_point(*this);
    }
    co_await pack.done();
    co_await unpack.done();
    for (int r = first; r < p.rounds; ++r) {
      for (std::size_t i = 0; i < num; ++i) {
        const std::uint64_t from = linear(all[i].index, extent());
        const std::size_t at = static_cast<std::size_t>(r) * num + i, length = length_of(p, from, all[i].peer_port, r);
        wrong += came[at] == length ? 0 : 1;
        for (std::size_t k = 0; k < std::min(length, came[at]); ++k)
          wrong += heard.data()[at * most + k] == word(from, all[i].peer_port, r, k) ? 0 : 1;
      }
    }
    contribute(wrong, sum);
  }

 private:
  std::vector<neighbour<index2d>> around() const {
    return neighbours(index(), extent(), {.diagonal = p.diagonal, .periodic = {p.periodic, p.periodic, false}});
  }
  std::uint64_t own() const { return linear(index(), extent()); }
};

task<int> exchange(runtime& rt, plan p) {
  const auto plate = rt.create_array<tile>(index2d{3, 2});
  plate.broadcast<&tile::open>(p);
  plate.broadcast<&tile::run>();
  co_return co_await plate.reduction<int>();
}

/// Goes about between rounds, to other processes too, so that nothing but its state goes along.
template <bool connects_in_constructor>
struct wanderer : chare<wanderer<connects_in_constructor>, index2d> {
  using base = chare<wanderer<connects_in_constructor>, index2d>;
  using base::array, base::contribute, base::extent, base::index, base::migrate_to, base::num_pes, base::on_device,
      base::pe, base::streams;
  halo<std::uint64_t> faces;
  int round = 0, wrong = 0;
  static constexpr int num_rounds = any_sanitizer ? 10 : 24;

  wanderer() {
    if constexpr (connects_in_constructor) open(memory_kind::device, halo_path::device);
  }
  void open(memory_kind kind, halo_path path) {
    faces = halo<std::uint64_t>(kind, path);
    for (const auto& n : around()) faces.connect(*this, array(), n, most);
  }
  task<> run() {
    const auto all = around();
    buffer<std::uint64_t> host(on_device(), most, memory_kind::pinned);
    stream& s = streams().compute;
    while (round < num_rounds) {
      if (faces.num_rounds() == static_cast<std::uint64_t>(round)) {
        co_await faces.begin(s);
        for (int i = 0; i < faces.size(); ++i) {
          for (std::size_t k = 0; k < most; ++k) host.data()[k] = word(own(), port(all, i), round, k);
          s.copy(faces.out(i).data, host.data(), most * sizeof(std::uint64_t));
          co_await s.done();
        }
        if (round % 2 == 1) {  // what is to be sent goes along
          migrate_to((pe() + 1) % num_pes());
          co_await move_point(*this);
        }
      }
      faces.send(s);
      co_await faces.receive(s);
      for (int i = 0; i < faces.size(); ++i) {
        const auto in = faces.in(i);
        s.copy(host.data(), in.data, in.bytes());
        co_await s.done();
        const std::uint64_t from = linear(all[static_cast<std::size_t>(i)].index, extent());
        for (std::size_t k = 0; k < most; ++k)
          wrong += host.data()[k] == word(from, all[static_cast<std::size_t>(i)].peer_port, round, k) ? 0 : 1;
      }
      faces.release();
      ++round;
      if ((round + static_cast<int>(own())) % 3 != 0) continue;
      migrate_to((pe() + 1 + round % 2) % num_pes());
      co_await move_point(*this);
    }
    contribute(wrong, sum);
  }
  using restartable = entry_list<&wanderer::run>;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & faces & round & wrong;
  }

 private:
  std::vector<neighbour<index2d>> around() const {
    return neighbours(index(), extent(), {.diagonal = true, .periodic = {true, false, false}});
  }
  static int port(const std::vector<neighbour<index2d>>& all, int i) { return all[static_cast<std::size_t>(i)].port; }
  std::uint64_t own() const { return linear(index(), extent()); }
};

template <bool connects_in_constructor>
task<int> wander(runtime& rt, memory_kind kind, halo_path path) {
  using element = wanderer<connects_in_constructor>;
  const auto plate = rt.create_array<element>(index2d{3, 2});
  if (!connects_in_constructor) plate.template broadcast<&element::open>(kind, path);
  plate.template broadcast<&element::run>();
  co_return co_await plate.template reduction<int>();
}

struct halo_of : testing::TestWithParam<device_kind> {
  void SetUp() override {
    if (const std::string why = why_without(GetParam()); !why.empty()) GTEST_SKIP() << why;
    if (GetParam() == device_kind::opencl) std::erase_if(shapes, [](const job_shape& s) { return s.in_virtual_time; });
  }
  int run_on(std::vector<std::string> gpus, const job_shape& s, auto start, auto... extra) {
    gpus.push_back(std::string("--imbrex-device=") + to_string(GetParam()));
    command_line line(s, std::move(gpus));
    return imbrex::run(line.count(), line.values(), start, extra...);
  }
  int run(const job_shape& s, auto start, auto... extra) { return run_on({}, s, start, extra...); }
  std::vector<job_shape> shapes{{1, 1},
                                {2, 1},
                                {1, 3},
                                {2, 2, 4},
                                {1, 3, 5, 100},
                                {3, 1, 0, 0, true},
#if IMBREX_HAVE_TOML
                                {1, 4, 3, 0, false, true}
#endif
  };
};

TEST_P(halo_of, brings_to_each_neighbour_what_is_for_it) {
  for (const job_shape& s : shapes) {
    for (const memory_kind kind : {memory_kind::device, memory_kind::pinned}) {
      for (const bool diagonal : {false, true}) {
        SCOPED_TRACE(to_text(s) + ", " + to_string(kind) + (diagonal ? ", diagonal" : ""));
        EXPECT_EQ(run(s, exchange, plan{.kind = kind, .diagonal = diagonal}), 0);
      }
    }
  }
}

TEST_P(halo_of, goes_around_periodic_ends) {
  for (const job_shape& s : shapes) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run(s, exchange, plan{.diagonal = true, .periodic = true}), 0);
  }
}

TEST_P(halo_of, takes_other_lengths_with_each_round) {
  for (const job_shape& s : shapes) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run(s, exchange, plan{.diagonal = true, .uneven = true, .one_by_one = true, .rounds = 12}), 0);
  }
}

TEST_P(halo_of, goes_on_one_stream) {
  for (const job_shape& s : shapes) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run(s, exchange, plan{.diagonal = true, .one_stream = true, .rounds = 20}), 0);
    EXPECT_EQ(run(s, exchange, plan{.periodic = true, .agreed = true, .one_stream = true, .rounds = 20}), 0);
  }
}

TEST_P(halo_of, goes_by_way_of_the_host) {
  for (const job_shape& s : shapes) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run(s, exchange, plan{.diagonal = true, .path = halo_path::host}), 0);
    EXPECT_EQ(run(s, exchange, plan{.periodic = true, .uneven = true, .path = halo_path::host, .one_by_one = true}), 0);
  }
}

TEST_P(halo_of, sends_nothing_where_both_sides_know_of_none) {
  for (const job_shape& s : shapes) {
    for (const halo_path path : {halo_path::device, halo_path::host}) {
      SCOPED_TRACE(to_text(s) + (path == halo_path::host ? ", by the host" : ""));
      EXPECT_EQ(run(s, exchange, plan{.diagonal = true, .agreed = true, .path = path, .rounds = 12}), 0);
    }
  }
}

TEST_P(halo_of, sends_memory_of_the_program) {
  for (const job_shape& s : shapes) {
    for (const halo_path path : {halo_path::device, halo_path::host}) {
      SCOPED_TRACE(to_text(s) + (path == halo_path::host ? ", by the host" : ""));
      EXPECT_EQ(run(s, exchange, plan{.diagonal = true, .own_memory = true, .path = path}), 0);
      EXPECT_EQ(run(s, exchange, plan{.agreed = true, .own_memory = true, .path = path}), 0);
    }
  }
}

TEST_P(halo_of, goes_with_its_chare) {
  for (const job_shape& s : {job_shape{3, 1}, {3, 1, 6}, {3, 1, 0, 0, true}}) {
    SCOPED_TRACE(to_text(s));
    const plan p{.diagonal = true, .periodic = true, .uneven = true, .moves = true, .rounds = any_sanitizer ? 8 : 20};
    EXPECT_EQ(run_on({"--imbrex-gpus=1"}, s, exchange, p), 0);  // else chares move by their state, as below
    plan by_host = p;
    by_host.path = halo_path::host;
    EXPECT_EQ(run_on({"--imbrex-gpus=1"}, s, exchange, by_host), 0);
  }
}

TEST_P(halo_of, goes_to_other_processes_in_the_state_of_its_chare) {
  for (const job_shape& s : {job_shape{2, 1}, {1, 3}, {2, 2, 7}, {1, 3, 2, 50}}) {
    for (const memory_kind kind : {memory_kind::device, memory_kind::pinned}) {
      SCOPED_TRACE(to_text(s) + ", " + to_string(kind));
      EXPECT_EQ(run(s, wander<false>, kind, halo_path::device), 0);
    }
    EXPECT_EQ(run(s, wander<false>, memory_kind::device, halo_path::host), 0) << to_text(s) << ", by the host";
    EXPECT_EQ(run(s, wander<true>, memory_kind::device, halo_path::device), 0)
        << to_text(s) << ", connected by the constructor";
  }
}

INSTANTIATE_TEST_SUITE_P(devices, halo_of, testing::ValuesIn(all_device_kinds),
                         [](const auto& i) { return to_string(i.param); });

// ------------------------------------------------------------------------------------------------ mistakes

struct mistaken : chare<mistaken> {
  halo<int> h;
  task<> go_wrong(int which) {
    stream& s = streams().compute;
    h.connect(*this, proxy(), 0, 1, 10);
    h.connect(*this, proxy(), 1, 0, 10);
    if (which == 0) h.send(s);
    if (which == 1) h.out(0);
    if (which == 2) h.in(0);
    co_await h.begin(s);
    if (which == 3) h.out(2);
    if (which == 4) h.send({10, 11}, s);
    if (which == 5) h.send({10}, s);
    if (which == 6) co_await h.begin(s);
    h.send(s);
    co_await h.receive(s);
    if (which == 7) co_await h.receive(1, s);
    h.release();
    if (which == 8) h.expect({1, 2}, {1});
    if (which == 9) h.expect({1, 2}, {3, 1});
    co_await h.begin(s);
    if (which == 10) h.expect({1, 1}, {1, 1});
    if (which == 11) h.out();
    if (which == 12) h.send(1, h.out(1), s);
    if (which == 12) h.send(1, h.out(1), s);
    if (which == 13) {
      h.send(s);
      co_await h.receive(1, s);
      h.release();
    }
    h.send(s);
    co_await h.receive(s);
  }
};

task<int> make_a_mistake(runtime& rt, int which) {
  co_await rt.create<mistaken>().call<&mistaken::go_wrong>(which);
  co_return 0;
}

TEST(halo, names_mistakes) {
  const char* const said[] = {"halo::send came at the wrong time: no round has begun",
                              "halo::out came at the wrong time: no round has begun",
                              "halo::in came at the wrong time: nothing has been received",
                              "asked for neighbour 2, but has 2",
                              "11 elements to neighbour 1, but was connected for at most 10",
                              "a number for each neighbour",
                              "halo::begin came at the wrong time: what was to be sent",
                              "halo::receive came at the wrong time: what came before has not been released",
                              "halo::expect came at the wrong time: there must be two numbers",
                              "a halo expected 3 elements from neighbour 0, and 2 came",
                              "halo::expect came at the wrong time: a round is under way",
                              "halo::out came at the wrong time: the numbers are not agreed upon",
                              "halo::send came at the wrong time: this neighbour has been sent",
                              "halo::release came at the wrong time: nothing has been received from one neighbour"};
  for (int which = 0; which < 14; ++which) {
    const job_outcome o = run_and_listen({1, 1}, make_a_mistake, which);
    EXPECT_NE(o.code, 0);
    EXPECT_THAT(o.errors, testing::HasSubstr(said[which]));
  }
}

/// Says by one halo how much goes by the other.
struct teller : chare<teller, index1d> {
  halo<int> numbers{memory_kind::pinned}, words{memory_kind::pinned};
  teller() {
    for (const auto& n : around(0)) numbers.connect(*this, array(), n, 1);
    for (const auto& n : around(27)) words.connect(*this, array(), n, 0);
  }
  std::vector<neighbour<index1d>> around(int first_port) const {
    return neighbours(index(), extent(), {.periodic = {true, false, false}, .first_port = first_port});
  }
  task<> run(int rounds) {
    stream& s = streams().compute;
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
      const auto size = static_cast<std::size_t>((index().x * 7 + round) % 5);
      co_await numbers.begin(s);
      for (int k = 0; k < 2; ++k) numbers.out(k).data[0] = static_cast<int>(size);
      numbers.send(s);
      co_await numbers.receive(s);
      const std::vector<std::size_t> out(2, size);
      std::vector<std::size_t> in;
      for (int k = 0; k < 2; ++k) in.push_back(static_cast<std::size_t>(numbers.in(k).data[0]));
      numbers.release();
      words.expect(out, in);
      co_await words.begin(s);
      for (int& w : std::span<int>(words.out().data, 2 * size)) w = index().x;
      words.send(s);
      co_await words.receive(s);
      for (int k = 0; k < 2; ++k) {
        const int from = (index().x + extent().x + (k == 0 ? -1 : 1)) % extent().x;
        wrong += words.in(k).size == static_cast<std::size_t>((from * 7 + round) % 5) ? 0 : 1;
        for (std::size_t i = 0; i < words.in(k).size; ++i) wrong += words.in(k).data[i] == from ? 0 : 1;
      }
      words.release();
    }
    contribute(wrong, sum);
  }
};

task<int> tell(runtime& rt) {
  const auto ring = rt.create_array<teller>(index1d(5));
  ring.broadcast<&teller::run>(30);
  co_return co_await ring.reduction<int>();
}

TEST(halo, of_a_chare_may_be_several) { run_over_all_shapes(tell); }

struct corrected : chare<corrected> {
  halo<int> h;
  task<int> send_again() {
    stream& s = streams().compute;
    h.connect(*this, proxy(), 0, 1, 10);
    h.connect(*this, proxy(), 1, 0, 10);
    int num_right = 0;
    co_await h.begin(s);
    const std::vector<std::size_t> too_many{10, 11}, right{10, 9};
    try {
      h.send(too_many, s);
    } catch (const usage_error&) {
      ++num_right;
    }
    h.send(right, s);
    co_await h.receive(s);
    num_right += h.in(0).size == 9 && h.in(1).size == 10 ? 1 : 0;
    h.release();
    co_await h.begin(s);
    h.send(s);
    co_await h.receive(s);
    num_right += h.in(0).size == 10 && h.in(1).size == 10 ? 1 : 0;
    co_return num_right;
  }
};

task<int> correct(runtime& rt) { co_return 3 - co_await rt.create<corrected>().call<&corrected::send_again>(); }

TEST(halo, sends_nothing_where_one_number_is_too_large) { EXPECT_EQ(run_job_with({1, 1}, correct), 0); }

}  // namespace

}  // namespace halo_test
