#include "imbrex/comm/ucx/ucx_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "imbrex/base/error.h"

namespace imbrex {

ucx_worker::ucx_worker(const ucx_context& context) : context_(context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucx_check(ucp_worker_create(context.get(), &params, &worker_), "ucp_worker_create", rank());
}

ucx_worker::~ucx_worker() { ucp_worker_destroy(worker_); }

std::vector<std::byte> ucx_worker::address() const {
  ucp_address_t* packed = nullptr;
  std::size_t size = 0;
  ucx_check(ucp_worker_get_address(worker_, &packed, &size), "ucp_worker_get_address", rank());
  const auto* bytes = reinterpret_cast<const std::byte*>(packed);
  std::vector<std::byte> copy(bytes, bytes + size);
  ucp_worker_release_address(worker_, packed);
  return copy;
}

void ucx_worker::know(const ucx_addresses& addresses, std::vector<std::atomic<bool>>* talked) {
  addresses_ = &addresses;
  talked_ = talked;
  peers_.resize(addresses.all.size());
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].worker = this;
    peers_[i].rank = static_cast<rank_id>(i) / addresses.per_rank;
  }
}

void ucx_worker::open(std::size_t place) {
  peer& p = peers_[place];
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(addresses_->all[place].data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = &ucx_worker::lose;
  params.err_handler.arg = &p;
  const ucs_status_t status = ucp_ep_create(worker_, &params, &p.endpoint);
  if (status == UCS_OK) {
    if (talked_ != nullptr) (*talked_)[static_cast<std::size_t>(p.rank)].store(true, std::memory_order_relaxed);
    return;
  }
  p.endpoint = nullptr;
  p.lost = true;
  lost_any_ = true;
  note(std::make_exception_ptr(
      comm_error(fmt::format("ucx finds no way from rank {} to rank {}: {}: has that process ended, or do UCX_TLS or "
                             "UCX_NET_DEVICES name too little?",
                             rank(), p.rank, ucs_status_string(status)))));
}

// UCX calls it from its progress, at most once for each endpoint. The endpoint stays until it is closed.
void ucx_worker::lose(void* of, ucp_ep_h, ucs_status_t status) {
  peer& p = *static_cast<peer*>(of);
  p.lost = true;
  p.worker->lost_any_ = true;
  if (p.worker->closing_) return;
  p.worker->note(std::make_exception_ptr(comm_error(fmt::format("rank {} lost rank {}: {}: has that process ended?",
                                                                p.worker->rank(), p.rank, ucs_status_string(status)))));
}

void ucx_worker::note(ucs_status_t status, const char* what, rank_id other) noexcept {
  if (status == UCS_OK || status == UCS_ERR_CANCELED || closing_ || failure_) return;
  failure_ = std::make_exception_ptr(comm_error(
      fmt::format("{} between rank {} and rank {} failed: {}", what, rank(), other, ucs_status_string(status))));
}

void ucx_worker::throw_failure() { std::rethrow_exception(std::exchange(failure_, nullptr)); }

bool ucx_worker::any_open() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const peer& p) { return p.endpoint != nullptr; });
}

void ucx_worker::begin_close(bool force) {
  closing_ = true;
  for (peer& p : peers_) {
    if (p.endpoint == nullptr) continue;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = force || p.lost ? UCP_EP_CLOSE_FLAG_FORCE : 0;
    p.lost = true;
    void* request = ucp_ep_close_nbx(std::exchange(p.endpoint, nullptr), &param);
    if (UCS_PTR_IS_PTR(request)) closing_requests_.push_back(request);  // an error means: closed already
  }
}

bool ucx_worker::closed() {
  std::erase_if(closing_requests_, [](void* request) {
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  });
  return closing_requests_.empty();
}

}  // namespace imbrex
