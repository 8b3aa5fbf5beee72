#include "staged_requests.h"

#include <pthread.h>

#include <atomic>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dispatch.h"
#include "settings.h"

namespace imbrex::sessions::IX_MPI {

namespace {

struct operation {
  staged_kind kind;
  staged_buffer buffer;
};

struct waiting_send {
  MPI_Request request;
  void* mark;
};

/// All under one lock: staging costs microseconds anyhow.
struct operations {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::unordered_map<std::uintptr_t, operation> by_request;
  std::vector<waiting_send> waiting;
};
operations& all() {
  static auto* made = new operations;  // outlives the last MPI call
  return *made;
}
std::atomic<int> num_staged{0};
std::atomic<int> num_waiting{0};

class guard {
 public:
  guard() { pthread_mutex_lock(&all().lock); }
  ~guard() { pthread_mutex_unlock(&all().lock); }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
};

std::size_t received_bytes(MPI_Status* status) {
  int bytes = 0;
  const int result = mpi.Get_count(status, mpi.byte, &bytes);
  return result == MPI_SUCCESS && bytes >= 0 ? static_cast<std::size_t>(bytes) : ~std::size_t{0};
}

}  // namespace

void add_staged_request(MPI_Request request, staged_kind kind, staged_buffer buffer) {
  const guard g;
  all().by_request[value_of(request)] = {kind, std::move(buffer)};
  num_staged.fetch_add(1);
  if (kind == staged_kind::send) {
    all().waiting.push_back({request, mark_copies()});
    num_waiting.fetch_add(1);
  }
}

void start_waiting_sends() {
  if (num_waiting.load(std::memory_order_acquire) == 0) return;
  const guard g;
  auto* start = reinterpret_cast<int (*)(MPI_Request*)>(real_routines[id_Start]);
  for (waiting_send& w : all().waiting) {
    wait_for_mark(w.mark);
    MPI_Request request = w.request;
    if (start(&request) != MPI_SUCCESS) give_up("stage: the MPI could not start a send whose buffer was copied");
  }
  all().waiting.clear();
  num_waiting.store(0);
}

void refresh_staged(MPI_Request request) {
  if (!any_staged()) return;
  const guard g;
  const auto found = all().by_request.find(value_of(request));
  if (found != all().by_request.end() && found->second.kind == staged_kind::persistent_send) {
    found->second.buffer.start_refresh();
  }
}

bool any_staged() { return num_staged.load(std::memory_order_acquire) != 0; }

bool is_staged(MPI_Request request) {
  if (!any_staged()) return false;
  const guard g;
  return all().by_request.count(value_of(request)) != 0;
}

void complete_staged(MPI_Request before, MPI_Request* after, MPI_Status* status, std::vector<staged_buffer>& held) {
  const guard g;
  const auto found = all().by_request.find(value_of(before));
  if (found == all().by_request.end()) return;
  operation& done = found->second;
  if (done.kind == staged_kind::receive || done.kind == staged_kind::persistent_receive) {
    done.buffer.start_return(received_bytes(status));
  }
  if (done.kind == staged_kind::persistent_send || done.kind == staged_kind::persistent_receive) return;
  if (done.kind == staged_kind::receive) held.push_back(std::move(done.buffer));
  if (done.kind == staged_kind::send) {
    reinterpret_cast<int (*)(MPI_Request*)>(real_routines[id_Request_free])(after);
  }
  all().by_request.erase(found);
  num_staged.fetch_sub(1);
}

bool forget_staged(MPI_Request request) {
  if (!any_staged()) return true;
  const guard g;
  const auto found = all().by_request.find(value_of(request));
  if (found == all().by_request.end()) return true;
  if (found->second.kind == staged_kind::send || found->second.kind == staged_kind::receive) return false;
  all().by_request.erase(found);
  num_staged.fetch_sub(1);
  return true;
}

}  // namespace imbrex::sessions::IX_MPI
