// A transport between real processes. Usage, under mpirun:
//   transport_test mpi|ucx traffic | stop | large [BYTES] | data | data_stop | one_sided | mismatch
#include "transport_test.h"

#include <cstdlib>

#include "imbrex/base/build_config.h"
#include "imbrex/comm/mpi/mpi_transport.h"
#if IMBREX_HAVE_UCX
#include "imbrex/comm/ucx/ucx_transport.h"
#endif

namespace transport_test {

std::string transport_name;

std::unique_ptr<transport> make_transport() {
#if IMBREX_HAVE_UCX
  if (transport_name == "ucx") return std::make_unique<ucx_transport>();
#endif
  if (transport_name == "mpi") return std::make_unique<mpi_transport>();
  throw usage_error("there is no transport " + transport_name + " in this build");
}

void check(bool holds, const std::string& what) {
  if (holds) return;
  throw comm_error("expected " + what);
}

void discard_message(work* item, work_action) { wire_message::destroy(static_cast<wire_message*>(item)); }

std::vector<executor> start(transport& comm, int num_pes) {
  std::vector<executor> inboxes(static_cast<std::size_t>(num_pes));
  delivery to{.first_pe = comm.rank() * num_pes, .pes = {}, .act = &discard_message};
  for (executor& e : inboxes) to.pes.push_back(&e);
  comm.start(to);
  return inboxes;
}

void discard_all(std::vector<executor>& inboxes) {
  for (executor& e : inboxes) {
    e.collect();
    while (work* item = e.next()) item->act(item, work_action::discard);
  }
}

}  // namespace transport_test

int main(int argc, char** argv) {
  using namespace transport_test;  // NOLINT: a test program
  transport_name = argc > 1 ? argv[1] : "mpi";
  const std::string mode = argc > 2 ? argv[2] : "traffic";
  try {
    if (mode == "traffic") {
      traffic();
    } else if (mode == "stop") {
      stop();
    } else if (mode == "large") {
      large(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 3'000'000'005);
    } else if (mode == "data") {
      data();
    } else if (mode == "data_stop") {
      data_stop();
    } else if (mode == "one_sided") {
      one_sided();
    } else if (mode == "mismatch") {
      mismatch();
    } else {
      fmt::print(stderr, "{}: unknown test; there are traffic, stop, large, data, data_stop, one_sided and mismatch\n",
                 mode);
      return 2;
    }
  } catch (const error& e) {
    fmt::print(stderr, "{} over {}: {}\n", mode, transport_name, e.what());
    return 1;
  }
  return 0;
}
