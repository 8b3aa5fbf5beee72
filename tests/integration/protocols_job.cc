// Which way the messages of a job go. Usage, under mpirun -n 2: protocols_job [--imbrex-...]
// Prints, of rank 1: the size up to which messages are packed, and of messages of 64, 1024, 16384 and 65536 bytes how
// many went apart from their messages.
#include <fmt/format.h>
#include <imbrex/imbrex.h>
#include <imbrex/pe/scheduler.h>

#include <cstdio>
#include <vector>

namespace {

namespace ix = imbrex;

struct correspondent : ix::chare<correspondent, ix::index1d> {
  ix::task<> write() {
    ix::channel<char> letters(*this, array()[1 - index()], 0, 0);
    co_await barrier();  // by then both ends know each other
    int right = 0;
    for (const std::size_t bytes : {64u, 1024u, 16384u, 65536u}) {
      const std::vector<char> out(bytes, static_cast<char>(bytes / 64));
      std::vector<char> in(bytes);
      const ix::channel_send sent = letters.send(ix::buffer_view<const char>(out), streams().pack);
      co_await letters.recv(ix::buffer_view<char>(in), streams().unpack);
      co_await streams().unpack.done();
      right += in == out ? 1 : 0;
      co_await sent;
    }
    co_await barrier();
    contribute(right, ix::sum);
  }
  std::vector<std::uint64_t> what_happened() {
    return {rt().options().protocols.packed_host_bytes, ix::scheduler::current().mover->num_sent()[1]};
  }
};

ix::task<int> start(ix::runtime& rt) {
  const auto both = rt.create_array<correspondent>(ix::index1d(2));
  both.broadcast<&correspondent::write>();
  const int right = co_await both.reduction<int>();
  const std::vector<std::uint64_t> seen = co_await both[1].call<&correspondent::what_happened>();
  fmt::print("packed_host_bytes {} apart {}\n", seen[0], seen[1]);
  co_return right == 8 && rt.num_ranks() == 2 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
