// Channels: two-sided communication between two chares, on buffers and streams.
//
// Where a pair of chares exchanges data again and again, a channel says so once: both ends name each other, the type
// and the kind of memory. `send` and `recv` name a stream, a queue of operations of a device: kernels, copies and
// messages run in the order of their streams, and the coroutine goes on enqueueing. Here the device is the host itself,
// so this runs anywhere.
//
// A ring of chares: in every round each one fills a buffer, sends it to the right, and adds what comes from the left.
//
//   build/default/bin/05_channel                        one process, one PE per core
//   build/default/bin/05_channel --imbrex-pes 4         four PEs: inside a process nothing is copied on the way
//   mpirun -n 2 build/default/bin/05_channel            two processes
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <numeric>
#include <string>
#include <vector>

namespace ix = imbrex;

// Kernels: on the host device any small function object that captures pointers and numbers by value.
auto fill(long* to, std::size_t n, long first) {
  return [=] { std::iota(to, to + n, first); };
}
auto add(long* to, const long* from, std::size_t n) {
  return [=] {
    for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
  };
}

class node : public ix::chare<node, ix::index1d> {
 public:
  explicit node(std::size_t length) : out_(on_device(), length), in_(on_device(), length), sum_(on_device(), length) {
    const int n = extent().x;
    const auto left = array()[(index().x + n - 1) % n];
    const auto right = array()[(index().x + 1) % n];
    // Each end: this chare, the other chare, the port here, the port there. Port 0 looks right, port 1 looks left.
    to_right_ = ix::channel<long>(*this, right, 0, 1);
    from_left_ = ix::channel<long>(*this, left, 1, 0);
  }

  ix::task<> run(int num_rounds) {
    const std::size_t n = out_.size();
    ix::stream_set& s = streams();  // our own: compute (low priority); pack, unpack, ... (high)
    s.compute.fill(sum_.data(), 0, n * sizeof(long));
    for (int round = 0; round < num_rounds; ++round) {
      s.pack.call("fill", fill(out_.data(), n, index().x + round));
      const auto sent = to_right_.send(out_, s.pack);  // as the buffer is when `pack` comes to this point

      s.unpack.after(s.compute);                // `in_` may be written once the last round has added it
      co_await from_left_.recv(in_, s.unpack);  // what follows on `unpack` sees the data
      s.compute.after(s.unpack);
      s.compute.call("add", add(sum_.data(), in_.data(), n));

      co_await sent;  // the receiver has read `out_`: it may be filled again
    }
    co_await s.compute.done();
    contribute(std::accumulate(sum_.data(), sum_.data() + n, 0L), ix::sum);
  }

 private:
  ix::buffer<long> out_, in_, sum_;
  ix::channel<long> to_right_, from_left_;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int num_rounds = arguments.empty() ? 100 : std::stoi(arguments[0]);
  const int num_nodes = 8;
  const long length = 1000;
  const auto nodes = rt.create_array<node>(num_nodes, static_cast<std::size_t>(length));
  nodes.broadcast<&node::run>(num_rounds);
  const long total = co_await nodes.reduction<long>();

  const long rounds = num_rounds;  // the same by Gauss
  const long expected = length * rounds * (num_nodes * (num_nodes - 1) / 2) +
                        num_nodes * length * (rounds * (rounds - 1) / 2) +
                        num_nodes * rounds * (length * (length - 1) / 2);
  fmt::print("{} nodes exchanged {} longs in {} rounds: total {}, expected {}\n", num_nodes, length, num_rounds, total,
             expected);
  co_return total == expected ? 0 : 1;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
