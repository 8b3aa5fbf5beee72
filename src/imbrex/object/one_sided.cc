#include "imbrex/object/one_sided.h"

#include <cstring>
#include <memory>

#include "imbrex/pe/reply_impl.h"

namespace imbrex::detail {

namespace {

/// A transport's operation, awaited. It stays in memory until it has ended, whatever becomes of the coroutine.
class transfer_awaiter : public waiter {
 public:
  using starter = void (*)(transport& t, const global_place& there, const data_view& here, transfer* done);
  transfer_awaiter(starter start, const global_place& there, const data_view& here)
      : start_(start), there_(there), here_(here) {}
  ~transfer_awaiter() {
    if (operation_ != nullptr) operation_->awaiter = nullptr;
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    suspend(h, [](const waiter*) { return std::string("a put or get"); });
    scheduler& pe = scheduler::current();
    operation_ = new operation;
    operation_->awaiter = this;
    operation_->pe = &pe;
    operation_->act = &operation::end;
    operation_->set_priority(priorities::communication);
    ++pe.operations;
    start_(pe.mover->network(), there_, here_, operation_);
  }
  void await_resume() const noexcept {}

 private:
  struct operation : transfer {
    transfer_awaiter* awaiter = nullptr;
    static void end(work* w, work_action action) {
      auto* self = static_cast<operation*>(static_cast<transfer*>(w));
      --self->pe->operations;
      transfer_awaiter* const waiting = std::exchange(self->awaiter, nullptr);
      delete self;
      if (waiting == nullptr) return;
      waiting->operation_ = nullptr;
      if (action == work_action::run) waiting->resume();
    }
  };
  starter start_;
  const global_place& there_;
  const data_view& here_;
  operation* operation_ = nullptr;
};

rank_id rank_of(pe_id pe) { return pe / scheduler::current().rank().pes_per_rank; }

/// "Done" back to who asked.
void answer(scheduler& pe, const reply_to& to) {
  pe.send(to.pe, reply_body<void>{to, outcome<std::monostate>(std::in_place_index<0>)}, priorities::communication);
}
void answer_failure(scheduler& pe, const reply_to& to, std::exception_ptr e) {
  pe.send(to.pe, reply_body<void>{to, outcome<std::monostate>(std::in_place_index<1>, failure::of(std::move(e)))},
          priorities::communication);
}

/// Takes what is put here by a transport that needs the target's help.
struct put_request {
  global_place to;
  remote_data data;  ///< or
  aligned_bytes packed;
  reply_to reply;

  void operator()(scheduler& pe) {
    std::exception_ptr thrown;
    try {
      take(pe);
    } catch (...) {
      thrown = std::current_exception();
    }
    if (thrown) answer_failure(pe, reply, std::move(thrown));
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & to & data & reply;
    std::uint64_t n = packed.size();
    ar & n;
    if constexpr (Archive::is_loading) ar.check_count(n, 1);
    packed.resize(n);
    ar.bytes(packed.data(), n);
  }

 private:
  exposure_table::entry place_of(scheduler& pe) const {
    try {
      return pe.rank().exposures.find(to.exposure, to.offset, to.bytes);
    } catch (...) {
      if (data.by != remote_data::path::none) pe.mover->drop(data);  // who has sent it waits for its memory
      throw;
    }
  }
  void take(scheduler& pe) {
    const exposure_table::entry e = place_of(pe);
    stream& s = *e.in_order_of;
    const auto done = [&pe, back = reply] { answer(pe, back); };
    if (data.by != remote_data::path::none) {
      const data_view place{e.data + to.offset, to.bytes, e.kind, s.on().number()};
      pe.mover->fetch(data, place, &s, [&s, done] { s.then("put", done); });
      return;
    }
    auto staged = std::make_shared<buffer<std::byte>>(s.on(), packed.size(), memory_kind::pinned);
    if (!packed.empty()) std::memcpy(staged->data(), packed.data(), packed.size());
    s.copy(e.data + to.offset, staged->data(), staged->size());
    s.then("put", [done, staged] { done(); });
  }
};

/// How what was got comes back.
struct get_answer {
  remote_data data;
  aligned_bytes packed;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & data;
    std::uint64_t n = packed.size();
    ar & n;
    if constexpr (Archive::is_loading) ar.check_count(n, 1);
    packed.resize(n);
    ar.bytes(packed.data(), n);
  }
};

struct get_request {
  global_place from;
  rank_id rank = -1;
  reply_to reply;

  void operator()(scheduler& pe) {
    std::exception_ptr thrown;
    try {
      give(pe);
    } catch (...) {
      thrown = std::current_exception();
    }
    if (!thrown) return;
    pe.send(reply.pe,
            reply_body<get_answer>{reply, outcome<get_answer>(std::in_place_index<1>, failure::of(std::move(thrown)))},
            priorities::communication);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & from & rank & reply;
  }

 private:
  void give(scheduler& pe) {
    const exposure_table::entry e = pe.rank().exposures.find(from.exposure, from.offset, from.bytes);
    stream& s = *e.in_order_of;
    const memory_kind kind = e.kind;
    // Kept lent until they have left: a job does not end meanwhile.
    lent_state* const state = lent_state::make();
    lent_buffer held(e.data + from.offset, from.bytes, state);
    state->release();
    if (pe.mover->travels_packed(kind, from.bytes)) {
      auto staged = std::make_shared<buffer<std::byte>>(s.on(), from.bytes, memory_kind::pinned);
      s.copy(staged->data(), held.data(), from.bytes);
      s.then("get", [&pe, back = reply, staged, kept = std::move(held)] {
        get_answer a;
        a.packed.assign(staged->data(), staged->data() + staged->size());
        send(pe, back, std::move(a));
      });
      return;
    }
    get_answer a;
    if (pe.mover->network().reaches(kind) && !s.on().is_staged(e.data + from.offset)) {
      const data_view view{e.data + from.offset, from.bytes, kind, s.on().number()};
      a.data = pe.mover->send_whole(rank, reply.pe, view, std::move(held));
    } else {
      a.data = pe.mover->send_chunks(rank, reply.pe, s, std::move(held));
    }
    send(pe, reply, std::move(a));
  }
  static void send(scheduler& pe, const reply_to& to, get_answer&& a) {
    pe.send(to.pe, reply_body<get_answer>{to, outcome<get_answer>(std::in_place_index<0>, std::move(a))},
            priorities::communication);
  }
};

/// Sends a request and waits for its answer.
template <class Request, class Answer>
class request_awaiter : public reply_awaiter<Answer> {
 public:
  explicit request_awaiter(Request& r, pe_id to) : request_(r), to_(to) {}
  void await_suspend(std::coroutine_handle<> h) {
    request_.reply = this->expect(h, [](const waiter*) { return std::string("a put or get"); });
    scheduler::current().send(to_, std::move(request_), priorities::communication);
  }
  Answer await_resume() { return this->take(); }

 private:
  Request& request_;
  const pe_id to_;
};

/// Waits for a fetch.
class fetch_awaiter : public waiter {
 public:
  fetch_awaiter(const remote_data& what, const data_view& to, stream& s) : what_(what), to_(to), stream_(s) {}
  ~fetch_awaiter() {
    if (fetch_ != nullptr) fetch_->abandon();
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    suspend(h, [](const waiter*) { return std::string("a get"); });
    fetch_ = scheduler::current().mover->fetch(what_, to_, &stream_, [this] {
      fetch_ = nullptr;
      resume();
    });
  }
  void await_resume() const noexcept {}

 private:
  const remote_data& what_;
  const data_view& to_;
  stream& stream_;
  data_fetch* fetch_ = nullptr;
};

bool reads_in_place(const global_place& there, memory_kind here, const stream& s) {
  if (there.memory.handle.empty() || here != memory_kind::device || s.on().kind() != device_kind::cuda) return false;
  remote_data as;
  as.rank = rank_of(there.pe);
  as.memory = there.memory;
  return scheduler::current().mover->reads_in_place(as);
}

// Not for memory of the host unless asked for: through shared memory UCX puts take ten times as long as messages.
bool by_transport(const global_place& there, memory_kind here) {
  const data_mover& mover = *scheduler::current().mover;
  const bool wanted = (there.kind == memory_kind::device && here == memory_kind::device) ||
                      mover.protocols().forced == protocol_table::way::direct;
  return wanted && !there.key.empty() && mover.has_one_sided(here);
}

void check_stream(memory_kind there, memory_kind here, const stream& s) {
  if ((there == memory_kind::device || here == memory_kind::device) && s.on().kind() == device_kind::host) {
    throw usage_error("a put or get of a GPU's memory on a stream of the host: give it a stream of the GPU");
  }
}

/// Exposed memory of this process.
std::byte* local_address(const global_place& p) {
  return scheduler::current().rank().exposures.find(p.exposure, p.offset, p.bytes).data + p.offset;
}

}  // namespace

global_place expose(std::byte* data, std::uint64_t bytes, memory_kind kind, device& on) {
  scheduler& pe = scheduler::current();
  exposure_table::entry e;
  e.data = data;
  e.bytes = bytes;
  e.kind = kind;
  e.in_order_of = on.make_stream(stream_priority::high, "puts and gets of others");
  global_place p;
  p.pe = pe.id();
  p.bytes = bytes;
  p.address = reinterpret_cast<std::uintptr_t>(data);
  p.kind = kind;
  p.exposure = pe.rank().exposures.add(std::move(e));
  if (pe.mover == nullptr || bytes == 0) return p;
  transport& t = pe.mover->network();
  if (pe.mover->has_one_sided(kind) && !on.is_staged(data)) p.key = t.share_memory({data, bytes, kind, on.number()});
  if (kind == memory_kind::device && !on.share(data, p.memory)) p.memory = {};
  return p;
}

void end_exposure(const global_place& p) { scheduler::current().rank().exposures.remove(p.exposure); }

task<> put_bytes(global_place to, const std::byte* from, memory_kind kind, stream* s) {
  scheduler& pe = scheduler::current();
  if (to.bytes == 0) co_return;
  check_stream(to.kind, kind, *s);
  if (pe.rank().is_local(to.pe) || reads_in_place(to, kind, *s)) {
    std::byte* there = nullptr;
    if (pe.rank().is_local(to.pe)) {
      there = local_address(to);
    } else {
      there = const_cast<std::byte*>(s->on().open(to.memory)) + to.offset;
    }
    s->copy(there, from, to.bytes);
    co_await s->done();
    co_return;
  }
  data_view here{const_cast<std::byte*>(from), to.bytes, kind, s->on().number()};
  if (by_transport(to, kind) && !s->on().is_staged(from)) {
    co_await s->done();
    const auto start = [](transport& t, const global_place& there, const data_view& view, transfer* done) {
      t.put(rank_of(there.pe), there.key, there.address + there.offset, view, done);
    };
    co_await transfer_awaiter(start, to, here);
    co_return;
  }
  put_request request;
  if (pe.mover->travels_packed(kind, to.bytes)) {
    buffer<std::byte> staged(s->on(), to.bytes, memory_kind::pinned);
    s->copy(staged.data(), from, to.bytes);
    co_await s->done();
    request.packed.assign(staged.data(), staged.data() + to.bytes);
  } else {
    lent_state* const state = lent_state::make();
    lent_buffer held(from, to.bytes, state);
    state->release();
    if (pe.mover->network().reaches(kind) && !s->on().is_staged(from)) {
      co_await s->done();
      request.data = pe.mover->send_whole(rank_of(to.pe), to.pe, here, std::move(held));
    } else {
      request.data = pe.mover->send_chunks(rank_of(to.pe), to.pe, *s, std::move(held));
    }
  }
  request.to = to;
  request_awaiter<put_request, void> answered(request, to.pe);
  co_await answered;
}

namespace {
/// From where a stream's device reaches it.
void copy_here(const global_place& from, std::byte* to, stream& s) {
  const scheduler& pe = scheduler::current();
  if (!pe.rank().is_local(from.pe)) {
    s.pull(event(), to, s.on().open(from.memory) + from.offset, from.bytes);
    return;
  }
  const exposure_table::entry e = pe.rank().exposures.find(from.exposure, from.offset, from.bytes);
  const device& owner = e.in_order_of->on();
  if (e.kind == memory_kind::device && owner.number() != s.on().number() && s.on().reaches(owner)) {
    s.pull(event(), to, e.data + from.offset, from.bytes);
  } else {
    s.copy(to, e.data + from.offset, from.bytes);
  }
}
}  // namespace

task<> get_bytes(global_place from, std::byte* to, memory_kind kind, stream* s) {
  scheduler& pe = scheduler::current();
  if (from.bytes == 0) co_return;
  check_stream(from.kind, kind, *s);
  if (pe.rank().is_local(from.pe) || reads_in_place(from, kind, *s)) {
    copy_here(from, to, *s);
    co_await s->done();
    co_return;
  }
  const data_view here{to, from.bytes, kind, s->on().number()};
  if (by_transport(from, kind) && !s->on().is_staged(to)) {
    co_await s->done();  // what is enqueued may still read or write there
    const auto start = [](transport& t, const global_place& there, const data_view& view, transfer* done) {
      t.get(rank_of(there.pe), there.key, there.address + there.offset, view, done);
    };
    co_await transfer_awaiter(start, from, here);
    co_return;
  }
  get_request request;
  request.from = from;
  request.rank = pe.rank().rank;
  request_awaiter<get_request, get_answer> answered(request, from.pe);
  const get_answer a = co_await answered;
  if (a.data.by == remote_data::path::none) {
    buffer<std::byte> staged(s->on(), a.packed.size(), memory_kind::pinned);
    if (!a.packed.empty()) std::memcpy(staged.data(), a.packed.data(), a.packed.size());
    s->copy(to, staged.data(), staged.size());
    co_await s->done();
    co_return;
  }
  fetch_awaiter coming(a.data, here, *s);
  co_await coming;
}

}  // namespace imbrex::detail
