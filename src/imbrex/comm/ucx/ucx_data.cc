#include "imbrex/comm/ucx/ucx_data.h"

#include <fmt/format.h>

#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"

namespace imbrex {

/// One movement under way.
struct ucx_data::operation {
  ucx_data* owner;
  transfer* done;
  kind what;
  rank_id other;
  std::uint64_t id;
  std::uint64_t bytes;
  void* request = nullptr;
  bool starting = false;  ///< the call that starts it has not returned: it must not end yet
  bool ended_early = false;
  ucs_status_t status = UCS_OK;
  std::size_t length = 0;
  operation* previous = nullptr;
  operation* next = nullptr;
};

namespace {

constexpr int id_bits = 44;

ucp_tag_t tag_of(rank_id sender, std::uint64_t id) {
  if (id >> id_bits != 0) throw usage_error(fmt::format("{} as the id of data: give one below 2^{}", id, id_bits));
  return static_cast<ucp_tag_t>(static_cast<std::uint32_t>(sender)) << id_bits | id;
}

}  // namespace

ucx_data::ucx_data(ucx_worker& worker, const ucx_memory& memory, int num_ranks)
    : worker_(worker),
      memory_(memory),
      sent_ids_(static_cast<std::size_t>(num_ranks)),
      received_ids_(static_cast<std::size_t>(num_ranks)) {}

ucx_data::~ucx_data() {
  while (first_ != nullptr) delete std::exchange(first_, first_->next);
}

ucx_data::operation* ucx_data::begin(kind k, rank_id other, std::uint64_t id, std::uint64_t bytes, transfer* done) {
  auto* o =
      new operation{.owner = this, .done = done, .what = k, .other = other, .id = id, .bytes = bytes, .next = first_};
  if (first_ != nullptr) first_->previous = o;
  first_ = o;
  if (k != kind::receive) ++num_leaving_;
  return o;
}

void ucx_data::end(operation* o, ucs_status_t status) {
  (o->previous != nullptr ? o->previous->next : first_) = o->next;
  if (o->next != nullptr) o->next->previous = o->previous;
  if (o->what != kind::receive) --num_leaving_;
  if (status == UCS_OK) {
    o->done->complete();
  } else {
    static constexpr const char* names[] = {"sending data", "receiving data", "a put", "a get"};
    worker_.note(status, names[static_cast<int>(o->what)], o->other);
    failed_.push_back(o->done);
  }
  delete o;
}

ucp_request_param_t ucx_data::describe(const data_view& view, operation* o) const {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.user_data = o;
  param.memory_type = ucx_memory_type(view.kind);
  if (ucp_mem_h handle = memory_.find(view); handle != nullptr) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param.memh = handle;
  }
  return param;
}

// Null: over already, without a callback.
void ucx_data::note_started(operation* o, void* request) {
  if (UCS_PTR_IS_PTR(request)) {
    o->request = request;
  } else {
    end(o, UCS_PTR_STATUS(request));
  }
}

void ucx_data::moved(void* request, ucs_status_t status, void* of) {
  auto* o = static_cast<operation*>(of);
  o->owner->end(o, status);
  ucp_request_free(request);
}

ucx_worker::peer& ucx_data::reach_alive(std::size_t place) {
  ucx_worker::peer& p = worker_.reach(place);
  if (p.lost) throw comm_error(fmt::format("rank {} cannot move data: rank {} is lost", worker_.rank(), p.rank));
  return p;
}

void ucx_data::send(std::size_t place, std::uint64_t id, const data_view& from, transfer* done) {
  const ucp_tag_t tag = tag_of(worker_.rank(), id);
  ucx_worker::peer& to = reach_alive(place);
  sent_ids_[static_cast<std::size_t>(to.rank)] += mix(id);
  operation* o = begin(kind::send, to.rank, id, from.bytes, done);
  ucp_request_param_t param = describe(from, o);
  param.cb.send = &ucx_data::moved;
  // Done when it is received, however small: `parked_message` counts on it.
  note_started(o, ucp_tag_send_sync_nbx(to.endpoint, from.data, from.bytes, tag, &param));
}

void ucx_data::recv(rank_id from, std::uint64_t id, const data_view& to, transfer* done) {
  const ucp_tag_t tag = tag_of(from, id);
  received_ids_[static_cast<std::size_t>(from)] += mix(id);
  operation* o = begin(kind::receive, from, id, to.bytes, done);
  ucp_request_param_t param = describe(to, o);
  // Only the callback tells how much came. It may be called before the call returns.
  param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  param.cb.recv = &ucx_data::received;
  o->starting = true;
  void* request = ucp_tag_recv_nbx(worker_.get(), to.data, to.bytes, tag, ~static_cast<ucp_tag_t>(0), &param);
  o->starting = false;
  if (o->ended_early) return end_receive(o, o->status, o->length);
  if (!UCS_PTR_IS_PTR(request)) return end(o, UCS_PTR_STATUS(request));
  o->request = request;
}

void ucx_data::received(void* request, ucs_status_t status, const ucp_tag_recv_info_t* info, void* of) {
  auto* o = static_cast<operation*>(of);
  o->ended_early = o->starting;
  o->status = status;
  o->length = info->length;
  if (!o->starting) o->owner->end_receive(o, status, info->length);
  ucp_request_free(request);
}

void ucx_data::end_receive(operation* o, ucs_status_t status, std::size_t length) {
  const bool too_long = status == UCS_ERR_MESSAGE_TRUNCATED;
  if (too_long || (status == UCS_OK && length != o->bytes)) {
    const std::string came = too_long ? "more" : fmt::format("{}", length);
    worker_.note(std::make_exception_ptr(
        comm_error(fmt::format("data {} from rank {} to rank {}: {} bytes were sent, but {} are expected: both sides "
                               "must give the same size",
                               o->id, o->other, worker_.rank(), came, o->bytes))));
    status = UCS_ERR_MESSAGE_TRUNCATED;
  }
  end(o, status);
}

ucp_rkey_h ucx_data::unpack(std::size_t place, const std::vector<std::byte>& key) {
  std::string name(reinterpret_cast<const char*>(&place), sizeof place);
  name.append(reinterpret_cast<const char*>(key.data()), key.size());
  const auto [found, is_new] = keys_.try_emplace(std::move(name), nullptr);
  if (!is_new) return found->second;
  ucx_worker::peer& p = worker_.reach(place);
  const ucs_status_t status = ucp_ep_rkey_unpack(p.endpoint, key.data(), &found->second);
  if (status == UCS_OK) return found->second;
  keys_.erase(found);
  throw_ucx_error(status, "ucp_ep_rkey_unpack", worker_.rank(), p.rank);
}

// The flush ends when everything before it has arrived, so also what was put.
void ucx_data::put(std::size_t place, const std::vector<std::byte>& key, std::uint64_t there, const data_view& from,
                   transfer* done) {
  ucx_worker::peer& to = reach_alive(place);
  const ucp_rkey_h handle = unpack(place, key);
  operation* o = begin(kind::put, to.rank, 0, from.bytes, done);
  ucp_request_param_t param = describe(from, o);
  param.user_data = &to;
  param.cb.send = &ucx_data::is_written;
  void* request = ucp_put_nbx(to.endpoint, from.data, from.bytes, there, handle, &param);
  if (UCS_PTR_IS_ERR(request)) return end(o, UCS_PTR_STATUS(request));
  ucp_request_param_t flush{};
  flush.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  flush.cb.send = &ucx_data::moved;
  flush.user_data = o;
  note_started(o, ucp_ep_flush_nbx(to.endpoint, &flush));
}

void ucx_data::is_written(void* request, ucs_status_t status, void* of) {
  auto& to = *static_cast<ucx_worker::peer*>(of);
  to.worker->note(status, "a put", to.rank);
  ucp_request_free(request);
}

void ucx_data::get(std::size_t place, const std::vector<std::byte>& key, std::uint64_t there, const data_view& to,
                   transfer* done) {
  ucx_worker::peer& from = reach_alive(place);
  const ucp_rkey_h handle = unpack(place, key);
  operation* o = begin(kind::get, from.rank, 0, to.bytes, done);
  ucp_request_param_t param = describe(to, o);
  param.cb.send = &ucx_data::moved;
  note_started(o, ucp_get_nbx(from.endpoint, to.data, to.bytes, there, handle, &param));
}

/// Data that nobody asked for, while they are received.
struct ucx_data::unwanted {
  ucx_data* owner;
  std::vector<std::byte> memory;
};

void ucx_data::take_unwanted() {
  ucp_tag_recv_info_t info{};
  while (ucp_tag_message_h message = ucp_tag_probe_nb(worker_.get(), 0, 0, 1, &info)) {
    auto* u = new unwanted{this, std::vector<std::byte>(info.length)};
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv = &ucx_data::is_taken;
    param.user_data = u;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    ++num_taken_;
    void* request = ucp_tag_msg_recv_nbx(worker_.get(), u->memory.data(), info.length, message, &param);
    if (UCS_PTR_IS_PTR(request)) continue;
    --num_taken_;
    delete u;
  }
}

void ucx_data::is_taken(void* request, ucs_status_t, const ucp_tag_recv_info_t*, void* of) {
  auto* u = static_cast<unwanted*>(of);
  --u->owner->num_taken_;
  delete u;
  ucp_request_free(request);
}

void ucx_data::cancel_receives() {
  for (operation *o = first_, *following = nullptr; o != nullptr; o = following) {
    following = o->next;  // a request may end, and `o` go, inside the call
    if (o->what == kind::receive && o->request != nullptr) ucp_request_cancel(worker_.get(), o->request);
  }
}

void ucx_data::give_up() {
  for (transfer* t : std::exchange(failed_, {})) t->complete();
  while (first_ != nullptr) {
    operation* o = std::exchange(first_, first_->next);
    o->done->complete();
    delete o;
  }
}

void ucx_data::forget_keys() {
  for (const auto& [name, handle] : keys_) ucp_rkey_destroy(handle);
  keys_.clear();
}

}  // namespace imbrex
