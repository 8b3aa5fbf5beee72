// Ring: chares that send to each other, and a program that knows it is done because nothing moves any more.
//
// Tokens run around a ring of chares, one short message per hop. No element knows when all tokens have stopped; the
// main chare waits for quiescence and then counts.
//
//   build/default/bin/02_ring                           one process, one PE per core
//   build/default/bin/02_ring --imbrex-pes 4            four PEs
//   mpirun -n 2 build/default/bin/02_ring               two processes
//   build/default/bin/02_ring 1000 50                   another ring size and number of laps
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <string>
#include <vector>

namespace ix = imbrex;

// What a message carries may be any type: trivially copyable ones as they are, others with a `serialize` member.
struct token {
  int number = 0;
  std::vector<int> weights;  // something that cannot be copied as plain bytes

  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & weights;
  }
};

class station : public ix::chare<station, ix::index1d> {
 public:
  // Takes a token and sends it on until it has made its hops.
  void pass(token t, int hops_left) {
    ++num_seen_;
    weight_seen_ += t.weights[static_cast<std::size_t>(t.number)];
    if (hops_left == 0) return;
    const int next = (index().x + 1) % extent().x;
    array()[next].send<&station::pass>(std::move(t), hops_left - 1);
  }

  // Adds this element's counts to a reduction over the array; the next example says more of it.
  void report() { contribute(std::vector<long>{num_seen_, weight_seen_}, ix::sum); }

 private:
  long num_seen_ = 0;
  long weight_seen_ = 0;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int size = !arguments.empty() ? std::stoi(arguments[0]) : 100;
  const int laps = arguments.size() > 1 ? std::stoi(arguments[1]) : 20;
  const int num_tokens = 4;
  if (size < num_tokens || laps < 1) throw ix::usage_error("the ring needs at least 4 elements and 1 lap");

  const auto ring = rt.create_array<station>(size);
  for (int n = 0; n < num_tokens; ++n) {
    token t{n, {1, 10, 100, 1000}};
    ring[n * size / num_tokens].send<&station::pass>(std::move(t), laps * size - 1);
  }
  co_await rt.quiescence();  // all tokens have stopped

  ring.broadcast<&station::report>();
  const auto seen = co_await ring.reduction<std::vector<long>>();
  fmt::print("{} tokens made {} laps of {} stations: {} hops\n", num_tokens, laps, size, seen[0]);
  fmt::print("every hop of token n counted 10^n: {}\n", seen[1]);
  co_return seen[0] == static_cast<long>(num_tokens) * laps* size ? 0 : 1;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
