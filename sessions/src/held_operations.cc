#include "held_operations.h"

#include <pthread.h>

#include <atomic>
#include <unordered_map>
#include <utility>

#include "dispatch.h"
#include "settings.h"

namespace imbrex::sessions::IX_MPI {

namespace {

struct held {
  held_by how;
  staged_pointer operation;
};

struct waiting_send {
  MPI_Request request;
  copy_mark mark;
};

struct freed_request {
  MPI_Request request;
  held what;
};

/// All under one lock: staging costs microseconds anyhow.
struct operations {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::unordered_map<std::uintptr_t, held> by_request;
  std::vector<waiting_send> waiting;
  std::vector<freed_request> freed;
};
operations& all() {
  static auto* made = new operations;  // outlives the last MPI call
  return *made;
}
std::atomic<int> num_staged{0};
std::atomic<int> num_waiting{0};
std::atomic<int> num_freed{0};

class guard {
 public:
  guard() { pthread_mutex_lock(&all().lock); }
  ~guard() { pthread_mutex_unlock(&all().lock); }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
};

template <class Type>
Type* real(routine_id id) {
  return reinterpret_cast<Type*>(real_routines[id]);
}

void hold(MPI_Request request, held_by how, staged_pointer operation) {
  const guard g;
  const bool is_new = all().by_request.insert_or_assign(value_of(request), held{how, std::move(operation)}).second;
  if (is_new) num_staged.fetch_add(1);
}

/// For requests that are looked after: frees what the program cannot free any more.
void free_twin(held_by how, MPI_Request* request) {
  if (how != held_by::request) real<int(MPI_Request*)>(id_Request_free)(request);
}

bool is_complete(freed_request& f, MPI_Status& status, bool wait) {
  int flag = 1;
  const int result = wait ? real<int(MPI_Request*, MPI_Status*)>(id_Wait)(&f.request, &status)
                          : real<int(MPI_Request*, int*, MPI_Status*)>(id_Test)(&f.request, &flag, &status);
  if (result != MPI_SUCCESS) f.what.operation->abandon();
  return result != MPI_SUCCESS || flag != 0;
}

void finish_freed(bool wait) {
  if (num_freed.load(std::memory_order_acquire) == 0) return;
  const guard g;
  std::vector<freed_request> left;
  std::vector<staged_pointer> done;
  for (freed_request& f : all().freed) {
    MPI_Status status;
    if (!is_complete(f, status, wait)) {
      left.push_back(std::move(f));
      continue;
    }
    f.what.operation->complete_request(&status);
    free_twin(f.what.how, &f.request);
    done.push_back(std::move(f.what.operation));
  }
  finish_copies();
  all().freed = std::move(left);
  num_freed.store(static_cast<int>(all().freed.size()));
}

}  // namespace

void hold_until_complete(MPI_Request request, staged_pointer operation) {
  MPI_Status status;
  int flag = 0;
  const int result = real<int(MPI_Request, int*, MPI_Status*)>(id_Request_get_status)(request, &flag, &status);
  if (result == MPI_SUCCESS && flag != 0) {
    operation->complete_request(&status);
    finish_copies();
    return;
  }
  hold(request, held_by::request, std::move(operation));
}

void hold_persistent(MPI_Request request, staged_pointer operation) {
  hold(request, held_by::persistent, std::move(operation));
}

void hold_waiting_send(MPI_Request request, staged_pointer operation, const copy_mark& mark) {
  hold(request, held_by::waiting_send, std::move(operation));
  const guard g;
  all().waiting.push_back({request, mark});
  num_waiting.fetch_add(1);
}

void start_waiting_sends() {
  if (num_waiting.load(std::memory_order_acquire) == 0) return;
  const guard g;
  auto* start = real<int(MPI_Request*)>(id_Start);
  for (waiting_send& w : all().waiting) {
    wait_for_mark(w.mark);
    MPI_Request request = w.request;
    if (start(&request) != MPI_SUCCESS) give_up("stage: the MPI could not start a send whose buffer was copied");
  }
  all().waiting.clear();
  num_waiting.store(0);
}

bool begin_persistent(MPI_Request request) {
  const staged_pointer operation = staged_of(request);
  if (operation == nullptr) return false;
  operation->begin();
  return true;
}

bool any_staged() { return num_staged.load(std::memory_order_acquire) != 0; }

staged_pointer staged_of(MPI_Request request) {
  if (!any_staged()) return nullptr;
  const guard g;
  const auto found = all().by_request.find(value_of(request));
  return found == all().by_request.end() ? nullptr : found->second.operation;
}

staged_pointer complete_held(MPI_Request before, MPI_Request* after, MPI_Status* status, bool failed) {
  if (!any_staged()) return nullptr;
  const guard g;
  const auto found = all().by_request.find(value_of(before));
  if (found == all().by_request.end()) return nullptr;
  staged_pointer operation = found->second.operation;
  failed ? operation->abandon() : operation->complete_request(status);
  const held_by how = found->second.how;
  if (how == held_by::persistent) return operation;
  if (how == held_by::waiting_send) real<int(MPI_Request*)>(id_Request_free)(after);
  all().by_request.erase(found);
  num_staged.fetch_sub(1);
  return operation;
}

bool take_freed(MPI_Request* request) {
  if (!any_staged()) return false;
  const guard g;
  const auto found = all().by_request.find(value_of(*request));
  if (found == all().by_request.end()) return false;
  const bool under_way = found->second.operation->active();
  if (under_way) {
    all().freed.push_back({*request, std::move(found->second)});
    num_freed.fetch_add(1);
    *request = mpi.request_null;
  }
  all().by_request.erase(found);
  num_staged.fetch_sub(1);
  return under_way;
}

void look_after_freed() { finish_freed(false); }
void wait_for_freed() { finish_freed(true); }

}  // namespace imbrex::sessions::IX_MPI
