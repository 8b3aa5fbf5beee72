#include "imbrex/comm/ucx/ucx_context.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>

#include "imbrex/base/error.h"
#include "imbrex/comm/ucx/ucx_transport.h"

namespace imbrex {

void throw_ucx_error(ucs_status_t status, const char* call, rank_id me, rank_id peer) {
  const std::string other = peer < 0 ? std::string() : fmt::format(" with rank {}", peer);
  throw comm_error(fmt::format("{}{} failed on rank {}: {}", call, other, me, ucs_status_string(status)));
}

namespace {

ucp_context_h open_context(rank_id me, int num_ranks, int num_local_ranks) {
  ucp_config_t* config = nullptr;
  ucx_check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read", me);
  // A UCX that does not know the setting goes without.
  if (std::getenv("UCX_MM_ERROR_HANDLING") == nullptr) {
    static_cast<void>(ucp_config_modify(config, "MM_ERROR_HANDLING", "y"));
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_REQUEST_SIZE | UCP_PARAM_FIELD_MT_WORKERS_SHARED |
                      UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_ESTIMATED_NUM_PPN;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_TAG | UCP_FEATURE_RMA;
  params.request_size = sizeof(void*);
  params.mt_workers_shared = 1;
  params.estimated_num_eps = static_cast<std::size_t>(num_ranks);
  params.estimated_num_ppn = static_cast<std::size_t>(num_local_ranks);
  ucp_context_h context = nullptr;
  const ucs_status_t status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  if (status != UCS_OK) {
    throw comm_error(
        fmt::format("ucp_init failed on rank {}: {}: if UCX_TLS or UCX_NET_DEVICES is set, does it name something that "
                    "this machine has?",
                    me, ucs_status_string(status)));
  }
  return context;
}

// The lines "resource 3 : md 2 dev 3 flags -- posix/memory" of UCX's description, as the set of names before the slash.
std::set<std::string> names_of_transports(ucp_context_h context) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  if (out == nullptr) return {};
  ucp_context_print_info(context, out);
  std::fclose(out);
  std::istringstream lines{std::string(text, size)};
  std::free(text);
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const auto slash = line.rfind('/');
    if (line.find("resource") == std::string::npos || slash == std::string::npos) continue;
    const auto space = line.rfind(' ', slash);
    names.insert(line.substr(space + 1, slash - space - 1));
  }
  return names;
}

}  // namespace

ucx_context::ucx_context(rank_id me, int num_ranks, int num_local_ranks)
    : context_(open_context(me, num_ranks, num_local_ranks)), me_(me) {
  ucp_context_attr_t facts{};
  facts.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  if (ucp_context_query(context_, &facts) == UCS_OK) {
    reaches_gpus_ = (facts.memory_types & (std::uint64_t{1} << UCS_MEMORY_TYPE_CUDA)) != 0;
  }
}

ucx_context::~ucx_context() { ucp_cleanup(context_); }

std::string ucx_context::paths() const {
  std::string list;
  for (const std::string& name : names_of_transports(context_)) {
    if (name == "self") continue;
    list += (list.empty() ? "" : ", ") + name;
  }
  return list.empty() ? "none between processes" : list;
}

std::string ucx_library_description() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  ucp_get_version(&major, &minor, &patch);
  const std::string version = fmt::format("UCX {}.{}.{}", major, minor, patch);
  try {
    const ucx_context context(0, 1, 1);
    return fmt::format("{}, {}, by {}", version,
                       context.reaches_gpus() ? "host and GPU memory" : "host memory (no GPU that it reaches)",
                       context.paths());
  } catch (const comm_error& e) {
    return fmt::format("{}, unusable: {}", version, e.what());
  }
}

}  // namespace imbrex
