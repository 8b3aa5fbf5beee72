#include "imbrex/comm/ucx/ucx_memory.h"

#include <fmt/format.h>

#include <mutex>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"

namespace imbrex {

ucx_memory::~ucx_memory() {
  for (const auto& [start, p] : pieces_) ucp_mem_unmap(context_.get(), p.handle);
}

ucs_status_t ucx_memory::map(const data_view& view) {
  ucp_mem_map_params_t params{};
  params.field_mask =
      UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  params.address = view.data;
  params.length = view.bytes;
  params.memory_type = ucx_memory_type(view.kind);
  ucp_mem_h handle = nullptr;
  const ucs_status_t status = ucp_mem_map(context_.get(), &params, &handle);
  if (status == UCS_OK) pieces_.emplace(view.data, registration{view.bytes, handle});
  return status;
}

void ucx_memory::add(const data_view& piece) {
  if (piece.bytes == 0 || (piece.kind == memory_kind::device && !context_.reaches_gpus())) return;
  const std::unique_lock lock(mutex_);
  if (pieces_.count(piece.data) != 0) return;
  const ucs_status_t status = map(piece);
  if (status == UCS_OK) return;
  log_warning(
      fmt::format("{} bytes of {} memory cannot be registered with ucx, data in them travels more slowly: {} "
                  "(ulimit -l may be too low)",
                  piece.bytes, to_string(piece.kind), ucs_status_string(status)));
}

void ucx_memory::forget(const std::byte* start) {
  const std::unique_lock lock(mutex_);
  const auto found = pieces_.find(start);
  if (found == pieces_.end()) return;
  const ucs_status_t status = ucp_mem_unmap(context_.get(), found->second.handle);
  if (status != UCS_OK) log_warning(fmt::format("ucp_mem_unmap failed: {}", ucs_status_string(status)));
  pieces_.erase(found);
}

ucp_mem_h ucx_memory::find_locked(const data_view& view) const {
  auto after = pieces_.upper_bound(view.data);
  if (after == pieces_.begin()) return nullptr;
  const auto& [start, p] = *--after;
  return view.data + view.bytes <= start + p.bytes ? p.handle : nullptr;
}

ucp_mem_h ucx_memory::find(const data_view& view) const {
  const std::shared_lock lock(mutex_);
  return find_locked(view);
}

std::vector<std::byte> ucx_memory::pack_key(const data_view& view) {
  const std::unique_lock lock(mutex_);
  ucp_mem_h handle = find_locked(view);
  if (handle == nullptr) {
    if (pieces_.count(view.data) != 0) {
      throw usage_error(
          fmt::format("{} bytes to be shared begin where a smaller piece of memory was registered: forget that one "
                      "first, or share no more than it",
                      view.bytes));
    }
    ucx_check(map(view), "ucp_mem_map", context_.rank());
    handle = pieces_.at(view.data).handle;
  }
  void* packed = nullptr;
  std::size_t size = 0;
  ucx_check(ucp_rkey_pack(context_.get(), handle, &packed, &size), "ucp_rkey_pack", context_.rank());
  const auto* bytes = static_cast<const std::byte*>(packed);
  std::vector<std::byte> key(bytes, bytes + size);
  ucp_rkey_buffer_release(packed);
  return key;
}

}  // namespace imbrex
