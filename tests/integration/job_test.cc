// Whole jobs between processes. Usage, under mpirun: job_test PROGRAM [--imbrex-...]; see `run_program`.
// In vanish and freeze the last rank ends or stops in mid-job: lost_rank_test.py looks at the others.
#include <fmt/format.h>
#include <imbrex/imbrex.h>

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include "unit/object/pe/large_arguments.h"

namespace {

namespace ix = imbrex;

void check(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("expected " + what);
}

ix::readonly<std::vector<int>> numbers;

/// Thrown on one rank and caught on another.
struct out_of_fuel : std::runtime_error {
  using std::runtime_error::runtime_error;
};
const bool fuel_known = ix::register_exception<out_of_fuel>();

struct shape {
  virtual ~shape() = default;
  virtual double area() const = 0;
};
struct square : shape {
  double side = 0;
  double area() const override { return side * side; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & side;
  }
};
const bool squares_travel = ix::register_derived<shape, square>("square");

struct worker : ix::chare<worker, ix::index2d> {
  ix::task<> run(int iterations) {
    for (int k = 0; k < iterations; ++k) {
      const ix::index2d next{(index().x + 1) % extent().x, (index().y + k) % extent().y};
      array()[next].send<&worker::arrived>(k, std::vector<double>(static_cast<std::size_t>(k * 100), 0.5));
      auto [values] = co_await arrived(k);
      check(values.size() == static_cast<std::size_t>(k * 100), "the values of this iteration");
      const int sum = co_await allreduce(k, ix::sum);
      check(sum == k * extent().x * extent().y, "the sum of all elements");
    }
    contribute(1, ix::sum);
  }
  int where() { return pe(); }
  void go(int to) { migrate_to(to); }
  int number(int i) { return numbers->at(static_cast<std::size_t>(i)); }
  void fail() { throw ix::usage_error("on purpose"); }
  void out_of_range() { throw std::out_of_range("no such cell"); }
  void run_dry() { throw out_of_fuel("empty"); }
  double measure(std::unique_ptr<shape> s) { return s->area(); }
  void exit(int code) { rt().exit(code); }
  void vanish() { _exit(0); }
  void freeze() { raise(SIGSTOP); }
  void compute(int seconds) { sleep(static_cast<unsigned>(seconds)); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & arrived;
  }
  ix::when<int, std::vector<double>> arrived;
};

constexpr ix::index2d extent{4, 3};

ix::task<int> work(ix::runtime& rt) {
  auto workers = rt.create_array<worker>(extent);
  for (int round = 0; round < 3; ++round) {
    workers.broadcast<&worker::run>(20);
    const int done = co_await workers.reduction<int>();
    check(done == 12, "all elements to end");
    for (std::uint64_t l = 0; l < volume(extent); ++l) {
      const ix::index2d i = ix::from_linear(l, extent);
      const int to =
          static_cast<int>((l + 5 * static_cast<std::uint64_t>(round)) % static_cast<std::uint64_t>(rt.num_pes()));
      co_await workers[i].call<&worker::go>(to);
      co_await rt.quiescence();
      const int where = co_await workers[i].call<&worker::where>();
      check(where == to, "the element to have moved");
    }
  }
  bool caught = false;
  try {
    co_await workers[{3, 2}].call<&worker::fail>();
  } catch (const ix::usage_error& e) {
    caught = std::string(e.what()) == "on purpose";
  }
  check(caught, "the exception to come back");
  co_return 0;
}

ix::task<int> exit_early(ix::runtime& rt) {
  auto workers = rt.create_array<worker>(extent);
  workers[{3, 2}].send<&worker::exit>(5);
  co_await workers.reduction<int>();
  co_return 0;
}

ix::task<int> fail(ix::runtime& rt) {
  auto workers = rt.create_array<worker>(extent);
  workers[{3, 2}].send<&worker::fail>();
  co_await workers.reduction<int>();
  co_return 0;
}

ix::task<int> deadlock(ix::runtime& rt) {
  auto workers = rt.create_array<worker>(extent);
  workers[{3, 2}].send<&worker::run>(1);
  co_await workers.reduction<int>();
  co_return 0;
}

// Work goes on while the last element's rank is lost; without an error the job would never end.
template <void (worker::*Lose)()>
ix::task<int> lose_last(ix::runtime& rt) {
  auto workers = rt.create_array<worker>(extent);
  const ix::index2d last{extent.x - 1, extent.y - 1};
  const int there = co_await workers[last].call<&worker::where>();
  check(there != 0, "the last element on another rank");
  co_await workers[last].call<&worker::compute>(1);  // until heartbeats go to and fro
  workers[last].send<Lose>();
  workers.broadcast<&worker::run>(5);
  co_await workers.reduction<int>();
  co_return 0;
}

// A rank that computes for longer than the heartbeat's limit is alive.
ix::task<int> busy(ix::runtime& rt) {
  auto workers = rt.create_array<worker>(extent);
  const ix::index2d last{extent.x - 1, extent.y - 1};
  co_await workers[last].call<&worker::compute>(4);
  co_return 0;
}

ix::task<int> readonly(ix::runtime& rt) {
  auto workers = rt.create_array<worker>(extent);
  for (int x = 0; x < extent.x; ++x) {
    const int number = co_await workers[{x, 2}].call<&worker::number>(x);
    check(number == 3 * x, "the number that rank 0 set");
  }
  co_return 0;
}

template <class E, void (worker::*Throw)()>
ix::task<> expect_thrown(ix::element_proxy<worker> by, std::string what) {
  bool right = false;
  try {
    co_await by.call<Throw>();
  } catch (const E& e) {
    right = typeid(e) == typeid(E) && e.what() == what;
  } catch (const std::exception&) {
  }
  check(right, "the exception of the same type and text: " + what);
}

// Exceptions and objects of derived classes arrive on other ranks as what they were.
ix::task<int> types(ix::runtime& rt) {
  auto workers = rt.create_array<worker>(extent);
  for (std::uint64_t l = 0; l < volume(extent); ++l) {
    const ix::element_proxy<worker> one = workers[ix::from_linear(l, extent)];
    co_await expect_thrown<std::out_of_range, &worker::out_of_range>(one, "no such cell");
    co_await expect_thrown<out_of_fuel, &worker::run_dry>(one, "empty");
    auto s = std::make_unique<square>();
    s->side = 3;
    const double area = co_await one.call<&worker::measure>(std::move(s));
    check(area == 9, "the area of a whole square");
  }
  co_return 0;
}

// Everything that large arguments take part in.
ix::task<int> large(ix::runtime& rt) {
  int failed = 0;
  failed += co_await imbrex_test::keep_order(rt, true);
  failed += co_await imbrex_test::carry_all_kinds(rt);
  failed += co_await imbrex_test::answer_at_length(rt);
  failed += co_await imbrex_test::speak_to_all(rt);
  failed += co_await imbrex_test::move_about(rt);
  co_return failed;
}

/// Ends of a channel, one of which sends more than travels in a message, and less than networks keep until it is asked
/// for: to a chare that never receives.
struct talker : ix::chare<talker, ix::index1d> {
  void open() { c = ix::channel<double>(*this, array()[extent().x - 1 - index().x], 0, 0); }
  void talk() { c.send(ix::buffer_view<const double>(words), streams().compute); }
  std::vector<double> words = std::vector<double>(600, 7.0);
  ix::channel<double> c;
};

// It is quiet all the same.
ix::task<int> parked(ix::runtime& rt) {
  auto all = rt.create_group<talker>();
  all.broadcast<&talker::open>();
  co_await rt.quiescence();
  all[0].send<&talker::talk>();
  co_await rt.quiescence();
  co_return 0;
}

// Ends while large arguments are on their way.
ix::task<int> exit_large(ix::runtime& rt) { return imbrex_test::end_in_the_middle(rt, false); }
ix::task<int> fail_large(ix::runtime& rt) { return imbrex_test::end_in_the_middle(rt, true); }

struct program {
  std::string name;
  ix::task<int> (*start)(ix::runtime&);
  int exit_code;
  bool loses_rank = false;
};

int run_program(const std::string& name, int argc, char** argv) {
  for (const program& p :
       {program{"work", work, 0}, program{"exit", exit_early, 5}, program{"fail", fail, 70},
        program{"deadlock", deadlock, 70}, program{"readonly", readonly, 0}, program{"types", types, 0},
        program{"large", large, 0}, program{"exit_large", exit_large, 5}, program{"fail_large", fail_large, 70},
        program{"vanish", lose_last<&worker::vanish>, 70, true},
        program{"freeze", lose_last<&worker::freeze>, 70, true}, program{"busy", busy, 0},
        program{"parked", parked, 0}}) {
    if (p.name != name) continue;
    const int code = ix::run(argc, argv, p.start);
    if (code != p.exit_code) fmt::print(stderr, "{} ended with {} where {} was expected\n", name, code, p.exit_code);
    if (code != p.exit_code) return 1;
    return p.loses_rank ? code : 0;  // the launcher is to end what is left
  }
  fmt::print(stderr,
             "{}: unknown program; there are work, exit, fail, deadlock, readonly, types, large, exit_large, "
             "fail_large, vanish, "
             "freeze, busy and parked\n",
             name);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  // Only rank 0's values count; the others set something else on purpose.
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank == nullptr) rank = std::getenv("PMI_RANK");
  const bool first = rank == nullptr || std::string(rank) == "0";
  numbers.set(first ? std::vector<int>{0, 3, 6, 9} : std::vector<int>{-1});
  return run_program(argc > 1 ? argv[1] : "work", argc, argv);
}
