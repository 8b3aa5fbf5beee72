#include "staging/freed_requests.h"

#include <atomic>
#include <utility>

#include "routines/real_routine.h"

namespace imbrex::sessions::IX_MPI {

namespace {

struct freed_request {
  MPI_Request request;
  held_request what;
};

/// The lock is held over tests, never over waits.
struct freed_requests {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::vector<freed_request> all;
};
freed_requests& freed() {
  static auto* made = new freed_requests;  // outlives the last MPI call
  return *made;
}
std::atomic<std::size_t> num_freed{0};

/// Whether the MPI is done with it.
bool is_over(freed_request& f, completed_operations& done) {
  MPI_Status status;
  int flag = 0;
  const int result = real<int(MPI_Request*, int*, MPI_Status*)>(id_Test)(&f.request, &flag, &status);
  if (result == MPI_SUCCESS && flag == 0) return false;
  if (result == MPI_SUCCESS) done.add_request(f.what.operation, &status);
  if (f.request != mpi.request_null) real<int(MPI_Request*)>(id_Request_free)(&f.request);
  return true;
}

}  // namespace

void look_after(MPI_Request request, held_request what) {
  const mutex_scope guard(freed().lock);
  freed().all.push_back({request, std::move(what)});
  num_freed.store(freed().all.size(), std::memory_order_release);
}

void look_after_freed() {
  if (num_freed.load(std::memory_order_acquire) == 0) return;
  const mutex_scope guard(freed().lock);
  completed_operations done;
  std::erase_if(freed().all, [&](freed_request& f) { return is_over(f, done); });
  done.finish();
  num_freed.store(freed().all.size(), std::memory_order_release);
}

void wait_for_freed() {
  while (num_freed.load(std::memory_order_acquire) != 0) look_after_freed();
}

}  // namespace imbrex::sessions::IX_MPI
