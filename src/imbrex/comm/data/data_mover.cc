#include "imbrex/comm/data/data_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/slab.h"

namespace imbrex {

namespace {

/// A transfer of its own: keeps what must live until then, and ends itself.
template <class T>
void finish(work* w, work_action action) {
  auto* t = static_cast<T*>(static_cast<transfer*>(w));
  if (action == work_action::run) t->over();
  delete t;
}

template <class T, class... A>
T* make_transfer(executor& pe, A&&... a) {
  auto* t = new T{{}, std::forward<A>(a)...};
  t->pe = &pe;
  t->act = &finish<T>;
  t->set_priority(priorities::communication);
  return t;
}

data_view on_host(std::byte* data, std::uint64_t bytes, memory_kind kind = memory_kind::pinned) {
  return {data, bytes, kind, -1};
}

}  // namespace

/// What a send reads from.
struct data_mover::outgoing : transfer {
  lent_buffer held;
  buffer<std::byte> staged;
  void over() {}
};

/// Data of a device that go through pinned memory piece by piece: no more pieces than fit the window are there at a
/// time. An operation under way until all of them have been received, as `parked_message` counts on: the sender's
/// memory goes back before that.
struct data_mover::staged_send {
  staged_send(data_mover& m, rank_id to_rank, pe_id pe, const remote_data& d, lent_buffer lent, buffer<std::byte> own)
      : mover(m), home(m.pe_), to(to_rank), to_pe(pe), what(d), held(std::move(lent)), kept(std::move(own)) {
    ++home.operations;
  }
  staged_send(const staged_send&) = delete;
  staged_send& operator=(const staged_send&) = delete;
  ~staged_send() { --home.operations; }

  data_mover& mover;
  executor& home;  // which stays when the job ends, though pieces are on their way
  const rank_id to;
  const pe_id to_pe;
  const remote_data what;
  lent_buffer held;
  buffer<std::byte> kept;
  std::uint64_t next = 0;  ///< the first piece that has not been begun

  struct piece : transfer {
    std::shared_ptr<staged_send> of;
    buffer<std::byte> staged;
    void over() {
      staged = {};
      of->begin_next(of, of->mover.aside(*device_of));
    }
    device* device_of = nullptr;
  };

  /// Copies one more piece in the order of `s` and sends it; when it has left, the next follows.
  void begin_next(const std::shared_ptr<staged_send>& self, stream& s) {
    if (next == what.num_chunks()) return;
    const std::uint64_t at = next * what.chunk_bytes, id = what.id + next,
                        n = std::min(what.chunk_bytes, what.bytes - at);
    const bool is_last = ++next == what.num_chunks();
    buffer<std::byte> staged(s.on(), n, memory_kind::pinned);
    s.copy(staged.data(), (held.holds() ? held.data() : kept.data()) + at, n);
    s.then_reading("send", [self, id, n, is_last, on = &s.on(), memory = std::move(staged)]() mutable {
      if (is_last) {
        self->held = lent_buffer();
        self->kept = {};
      }
      const data_view view = on_host(memory.data(), n);
      auto* p = make_transfer<piece>(self->mover.pe_, self, std::move(memory), on);
      self->mover.transport_.send_data(self->to, self->to_pe, id, view, p);
    });
  }
};

/// A reader's word that it has read what was shared.
struct data_mover::answer : transfer {
  data_mover* mover;
  std::uint64_t id;
  std::byte word{};
  void over() { mover->shared_.erase(id); }
};

struct data_mover::read_note : transfer {
  std::byte word{1};
  void over() {}
};

data_mover::~data_mover() = default;

std::uint64_t data_mover::take_ids(std::uint64_t count, bool to_host) {
  static_assert(transport::between_hosts == std::uint64_t{1} << counter_bits);
  constexpr std::uint64_t all = std::uint64_t{1} << counter_bits;
  if (next_id_ + count > all) next_id_ = 0;  // those numbers were used a thousand million messages ago
  const std::uint64_t id = first_id_ | next_id_ | (to_host ? transport::between_hosts : 0);
  next_id_ += count;
  return id;
}

remote_data data_mover::describe(remote_data::path by, std::uint64_t id, std::uint64_t bytes) {
  ++num_sent_[static_cast<std::size_t>(by)];
  remote_data d;
  d.by = by;
  d.rank = transport_.rank();
  d.pe = id_;
  d.id = id;
  d.bytes = bytes;
  return d;
}

remote_data::path data_mover::choose(memory_kind here, std::uint64_t bytes, rank_id to, memory_kind there) const {
  using way = protocol_table::way;
  using path = remote_data::path;
  const bool of_device = here == memory_kind::device;
  if (protocols_.forced == way::packed || bytes == 0) return path::none;
  if (!of_device) {
    const bool apart = protocols_.forced != way::automatic || bytes > protocols_.packed_host_bytes;
    return apart ? path::whole : path::none;
  }
  const bool beside = sharing_.reads_mine[static_cast<std::size_t>(to)] && there == memory_kind::device;
  const bool direct = network_reaches(memory_kind::device);
  switch (protocols_.forced) {
    case way::staged: return path::chunks;
    case way::direct: return direct ? path::whole : path::chunks;
    case way::shared: return beside ? path::shared : path::chunks;
    default: break;
  }
  if (bytes <= protocols_.packed_device_bytes) return path::none;
  if (beside && bytes > protocols_.unshared_device_bytes) return path::shared;
  return direct && bytes > protocols_.staged_device_bytes ? path::whole : path::chunks;
}

bool data_mover::travels_packed(memory_kind here, std::uint64_t bytes) const {
  using way = protocol_table::way;
  if (bytes == 0 || protocols_.forced == way::packed) return true;
  if (protocols_.forced != way::automatic) return false;
  return bytes <= (here == memory_kind::device ? protocols_.packed_device_bytes : protocols_.packed_host_bytes);
}

// ------------------------------------------------------------------------------------------------ the sending side

remote_data data_mover::send_whole(rank_id to, pe_id to_pe, const data_view& from, lent_buffer held, bool to_host) {
  const bool hosts = to_host && from.kind != memory_kind::device;
  const remote_data d = describe(remote_data::path::whole, take_ids(1, hosts), from.bytes);
  transport_.send_data(to, to_pe, d.id, from, make_transfer<outgoing>(pe_, std::move(held), buffer<std::byte>()));
  return d;
}

remote_data data_mover::send_chunks(rank_id to, pe_id to_pe, stream& s, lent_buffer held, bool to_host) {
  remote_data d = describe(remote_data::path::chunks, 0, held.bytes());
  d.chunk_bytes = std::max<std::uint64_t>(protocols_.chunk_bytes, 1);
  d.id = take_ids(d.num_chunks(), to_host);
  send_pieces(to, to_pe, s, d, std::move(held));
  return d;
}

void data_mover::send_pieces(rank_id to, pe_id to_pe, stream& s, const remote_data& d, lent_buffer held,
                             buffer<std::byte> kept) {
  const std::uint64_t at_once = std::min(d.num_chunks(), window(d.chunk_bytes));
  if (at_once < d.num_chunks()) aside(s.on()).after(s);  // later pieces do not wait for what `s` does next
  const std::shared_ptr<staged_send> all(new staged_send(*this, to, to_pe, d, std::move(held), std::move(kept)));
  for (std::uint64_t i = 0; i < at_once; ++i) all->begin_next(all, s);
}

stream& data_mover::aside(device& d) {
  for (const auto& s : aside_) {
    if (&s->on() == &d) return *s;
  }
  aside_.push_back(d.make_stream(stream_priority::high, "what moves in nobody's order"));
  aside_.back()->follows_nobody();  // though a chare may be acting
  return *aside_.back();
}

remote_data data_mover::describe_offer(device& on, const std::byte* data, std::uint64_t bytes) {
  using way = protocol_table::way;
  const memory_kind kind = on.allocates();
  const bool automatic = protocols_.forced == way::automatic;
  const bool staged = protocols_.forced == way::staged || (automatic && bytes <= protocols_.staged_device_bytes);
  const bool direct = network_reaches(kind) && (kind != memory_kind::device || (!staged && !on.is_staged(data)));
  remote_data d = describe(direct ? remote_data::path::whole : remote_data::path::chunks, 0, bytes);
  d.chunk_bytes = std::max<std::uint64_t>(protocols_.chunk_bytes, 1);
  d.id = take_ids(d.num_chunks(), false);
  const bool may_share = automatic ? bytes > protocols_.unshared_device_bytes : protocols_.forced == way::shared;
  if (may_share && kind == memory_kind::device && !on.share(data, d.memory)) d.memory = {};
  return d;
}

remote_data data_mover::offer(stream& s, lent_buffer held) {
  const remote_data d = describe_offer(s.on(), held.data(), held.bytes());
  offered_.emplace(d.id, offered{std::move(held), &s, d, {}});
  return d;
}

remote_data data_mover::offer(device& on, buffer<std::byte> kept) {
  const remote_data d = describe_offer(on, kept.data(), kept.size());
  offered_.emplace(d.id, offered{{}, &aside(on), d, std::move(kept)});
  return d;
}

void data_mover::serve(std::uint64_t id, rank_id to, pe_id to_pe) {
  const auto found = offered_.find(id);
  if (found == offered_.end()) throw comm_error(fmt::format("rank {} asked for data {}, which nobody offers", to, id));
  offered o = std::move(found->second);
  offered_.erase(found);
  if (o.as.by == remote_data::path::chunks)
    return send_pieces(to, to_pe, *o.in_order_of, o.as, std::move(o.held), std::move(o.kept));
  const device& on = o.in_order_of->on();
  const data_view from{const_cast<std::byte*>(o.data()), o.as.bytes, on.allocates(), on.number()};
  transport_.send_data(to, to_pe, id, from, make_transfer<outgoing>(pe_, std::move(o.held), std::move(o.kept)));
}

bool data_mover::reads_in_place(const remote_data& what) const {
  return !what.memory.handle.empty() && sharing_.is_read[static_cast<std::size_t>(what.rank)];
}

bool data_mover::share(rank_id to, stream& s, lent_buffer& held, remote_data& as) {
  shared_memory memory;
  shared_point ready;
  if (!s.on().share(held.data(), memory) || !s.record_shared(ready)) return false;
  as = describe(remote_data::path::shared, take_ids(1, true), held.bytes());
  as.memory = memory;
  as.ready = ready;
  shared_.emplace(as.id, std::move(held));
  auto* a = make_transfer<answer>(pe_, this, as.id);
  transport_.recv_data(to, as.id | answer_bit, on_host(&a->word, 1, memory_kind::host), a);
  return true;
}

// ---------------------------------------------------------------------------------------------- the receiving side

const std::byte* data_mover::open(const remote_data& what, stream& s) {
  const std::byte* const there = s.on().open(what.memory);
  s.wait(s.on().open(what.ready));
  return there;
}

void data_mover::copy_shared(const remote_data& what, stream& s, void* to) {
  const std::byte* const there = s.on().open(what.memory);
  s.pull(s.on().open(what.ready), to, there, what.bytes);
}

void data_mover::has_been_read(const remote_data& what) {
  auto* note = make_transfer<read_note>(pe_);
  transport_.send_data(what.rank, what.pe, what.id | answer_bit, on_host(&note->word, 1, memory_kind::host), note);
}

void data_mover::drop(const remote_data& what) {
  if (what.by == remote_data::path::shared) return has_been_read(what);
  auto nowhere = std::make_shared<std::vector<std::byte>>(what.bytes);
  fetch(what, on_host(nowhere->data(), what.bytes, memory_kind::host), nullptr, [nowhere] {});
}

void data_fetch::piece::arrive(work* w, work_action action) {
  auto* p = static_cast<piece*>(static_cast<transfer*>(w));
  if (action == work_action::run) return p->of->arrived(*p);
  p->of->give_up();  // the job ends
  p->of->one_is_over();
}

data_fetch* data_mover::fetch(const remote_data& what, const data_view& to, stream* in_order_of,
                              std::function<void()> done) {
  auto* f = new data_fetch(*this, what, to, in_order_of, std::move(done));
  ++pe_.operations;
  const bool staged =
      to.kind == memory_kind::device &&
      (!network_reaches(memory_kind::device) || (in_order_of != nullptr && in_order_of->on().is_staged(to.data)));
  if (in_order_of == nullptr || staged) {
    f->start(staged);
  } else {
    in_order_of->then("receive", [f] { f->start(false); });
  }
  return f;
}

void data_fetch::start(bool staged) {
  const std::uint64_t count = what_.num_chunks();
  staged_ = staged;
  num_left_ = count;
  pieces_ = std::vector<piece>(count);
  const std::uint64_t at_once = staged && count > 1 ? std::min(count, data_mover::window(what_.chunk_bytes)) : count;
  while (next_ < at_once) start_piece(next_++);
}

void data_fetch::start_piece(std::size_t i) {
  const std::uint64_t size = what_.by == remote_data::path::chunks ? what_.chunk_bytes : what_.bytes;
  piece& p = pieces_[i];
  p.pe = &mover_.pe_;
  p.act = &piece::arrive;
  p.set_priority(priorities::communication);
  p.of = this;
  p.at = i * size;
  p.size = std::min(size, what_.bytes - p.at);
  data_view place = to_;
  if (staged_) {
    p.staged = buffer<std::byte>(stream_->on(), p.size, memory_kind::pinned);
    place = on_host(p.staged.data(), p.size);
  } else {
    place.data += p.at;
    place.bytes = p.size;
  }
  mover_.transport_.recv_data(what_.rank, what_.id + i, place, &p);
}

// A piece's memory is for the next one: that is begun when the device has taken this one. It counts as left until then,
// so this is still there.
void data_fetch::arrived(piece& p) {
  const bool more = next_ < pieces_.size();
  const std::size_t following = more ? next_++ : 0;
  if (p.staged.data() != nullptr && done_ != nullptr) {
    stream_->copy(to_.data + p.at, p.staged.data(), p.size);
    stream_->then("received", [this, more, following, held = std::move(p.staged)]() mutable {
      held = {};
      if (more) start_piece(following);
    });
  } else if (more) {
    p.staged = {};
    start_piece(following);
  }
  one_is_over();
}

void data_fetch::give_up() {
  abandon();
  num_left_ -= pieces_.size() - std::exchange(next_, pieces_.size());
}

void data_fetch::one_is_over() {
  if (--num_left_ > 0) return;
  --mover_.pe_.operations;
  const std::function<void()> done = std::move(done_);
  delete this;
  if (done) done();
}

}  // namespace imbrex
