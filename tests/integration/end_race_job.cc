// A job that one PE wants to leave while another one fails. Prints how it ended on each rank; end_race_test.py
// compares.
#include <fmt/format.h>
#include <imbrex/imbrex.h>

#include <cstdio>
#include <stdexcept>

namespace {

namespace ix = imbrex;

ix::rank_id my_rank = 0;

struct ender : ix::chare<ender, ix::index1d> {
  void remember_rank() { my_rank = rank(); }
  void fail() { throw std::runtime_error("boom"); }
  void leave() { rt().exit(0); }
  void leave_and_fail() {
    leave();
    fail();
  }
  void differ() { pe() % 2 == 0 ? leave() : fail(); }
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const std::string how = arguments.empty() ? "beside" : arguments.front();
  auto enders = rt.create_group<ender>();
  enders.broadcast<&ender::remember_rank>();
  co_await rt.quiescence();
  const int last = rt.num_pes() - 1;
  if (how == "same") {
    enders[last].send<&ender::leave_and_fail>();
  } else if (how == "half") {
    enders.broadcast<&ender::differ>();
  } else {
    enders[last].send<&ender::fail>();
    rt.exit(0);
  }
  co_await enders.reduction<int>();
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int code = ix::run(argc, argv, start);
  fmt::print("rank {} ended with {}\n", my_rank, code);
  std::fflush(stdout);
  return 0;  // a launcher would end the other ranks
}
