#include "imbrex/comm/ucx/ucx_messages.h"

#include <fmt/format.h>

#include <cstring>
#include <new>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

constexpr unsigned message_id = 1;

wire_message* make_message(const wire_header& h, rank_id me) {
  try {
    wire_message* m = wire_message::make(h.size);
    m->header = h;
    return m;
  } catch (const std::bad_alloc&) {
    throw out_of_memory(fmt::format("no memory on rank {} for a message of {} bytes from pe {}: send less at once", me,
                                    h.size, h.from));
  }
}

/// What UCX keeps for us beside a request that is under way.
wire_message*& message_of(void* request) { return *static_cast<wire_message**>(request); }

}  // namespace

ucx_messages::ucx_messages(ucx_worker& worker, const delivery& to, pe_id pe, int num_ranks)
    : worker_(worker),
      delivery_(to),
      pe_(pe),
      num_sent_(static_cast<std::size_t>(num_ranks)),
      num_received_(static_cast<std::size_t>(num_ranks)),
      from_(static_cast<std::size_t>(num_ranks) * to.pes.size()) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = message_id;
  handler.cb = &ucx_messages::arrived;
  handler.arg = this;
  ucx_check(ucp_worker_set_am_recv_handler(worker.get(), &handler), "ucp_worker_set_am_recv_handler", worker.rank());
}

void ucx_messages::send(wire_message* m) {
  ucx_worker::peer& to = worker_.reach(static_cast<std::size_t>(m->header.to));
  if (to.lost) [[unlikely]]
    return wire_message::destroy(m);
  ucx_order::set_number(m->header, to.num_sent++);
  ++num_sent_[static_cast<std::size_t>(to.rank)];
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.send = &ucx_messages::has_left;
  param.user_data = this;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  void* request =
      ucp_am_send_nbx(to.endpoint, message_id, &m->header, sizeof m->header, m->payload(), m->header.size, &param);
  if (request == nullptr) [[likely]]
    return wire_message::destroy(m);
  if (UCS_PTR_IS_ERR(request)) {
    worker_.note(UCS_PTR_STATUS(request), "sending a message", to.rank);
    return wire_message::destroy(m);
  }
  message_of(request) = m;
  ++num_under_way_;
  flood_.look(num_under_way_, to.rank, m->wire_size());
}

void ucx_messages::has_left(void* request, ucs_status_t status, void* of) {
  auto& self = *static_cast<ucx_messages*>(of);
  wire_message* m = message_of(request);
  self.worker_.note(status, "sending a message", static_cast<rank_id>(self.rank_of(m->header.to)));
  wire_message::destroy(m);
  --self.num_under_way_;
  ucp_request_free(request);
}

// No exception may pass through UCX.
ucs_status_t ucx_messages::arrived(void* of, const void* header, std::size_t header_bytes, void* data,
                                   std::size_t bytes, const ucp_am_recv_param_t* how) {
  auto& self = *static_cast<ucx_messages*>(of);
  try {
    wire_header h;
    if (header_bytes == sizeof h) [[likely]]
      std::memcpy(&h, header, sizeof h);
    if (header_bytes != sizeof h || h.size != bytes || h.to != self.pe_ || h.from < 0 ||
        static_cast<std::size_t>(h.from) >= self.from_.size()) {
      throw comm_error(
          fmt::format("a message of {} bytes at pe {} of rank {} is not for it: its header says {} bytes from pe {} to "
                      "pe {}: do all ranks run the same program?",
                      bytes, self.pe_, self.worker_.rank(), h.size, h.from, h.to));
    }
    self.take(h, data, (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0);
  } catch (...) {
    self.worker_.note(std::current_exception());
  }
  return UCS_OK;
}

void ucx_messages::take(const wire_header& h, void* data, bool must_fetch) {
  wire_message* m = make_message(h, worker_.rank());
  if (must_fetch) return fetch(m, data);
  std::memcpy(m->payload(), data, h.size);
  hand_over(m);
}

void ucx_messages::fetch(wire_message* m, void* description) {
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.recv_am = &ucx_messages::is_fetched;
  param.user_data = this;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  void* request = ucp_am_recv_data_nbx(worker_.get(), description, m->payload(), m->header.size, &param);
  if (request == nullptr) return hand_over(m);
  if (UCS_PTR_IS_ERR(request)) {
    worker_.note(UCS_PTR_STATUS(request), "fetching a message", static_cast<rank_id>(rank_of(m->header.from)));
    return wire_message::destroy(m);
  }
  message_of(request) = m;
  ++num_under_way_;
}

void ucx_messages::is_fetched(void* request, ucs_status_t status, std::size_t, void* of) {
  auto& self = *static_cast<ucx_messages*>(of);
  wire_message* m = message_of(request);
  ucp_request_free(request);
  --self.num_under_way_;
  if (status != UCS_OK) {
    self.worker_.note(status, "fetching a message", static_cast<rank_id>(self.rank_of(m->header.from)));
    return wire_message::destroy(m);
  }
  try {
    self.hand_over(m);
  } catch (...) {
    self.worker_.note(std::current_exception());
  }
}

void ucx_messages::hand_over(wire_message* m) {
  ++num_received_[rank_of(m->header.from)];
  if (from_[static_cast<std::size_t>(m->header.from)].arrive(m, [this](wire_message* next) { deliver(next); }))
      [[likely]]
    return;
  const wire_header h = m->header;
  wire_message::destroy(m);
  throw comm_error(
      fmt::format("message {} from pe {} came twice to pe {}: ucx lost track", ucx_order::number_of(h), h.from, pe_));
}

void ucx_messages::deliver(wire_message* m) {
  if (discarding_ || !delivery_.post(m)) [[unlikely]]
    wire_message::destroy(m);
}

}  // namespace imbrex
