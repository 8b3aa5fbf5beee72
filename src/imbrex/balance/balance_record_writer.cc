#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "imbrex/balance/balance_record.h"
#include "imbrex/base/error.h"

namespace imbrex {

namespace {

using text_end = std::back_insert_iterator<std::string>;

/// Leaves out what is as it would be anyway.
template <class T>
void put_unless(text_end out, const char* key, T value, T usual) {
  if (value != usual) fmt::format_to(out, ",\"{}\":{}", key, value);
}

void put_machine(text_end out, const balance_problem& p) {
  for (std::size_t i = 0; i < p.gpus.size(); ++i) {
    const balance_gpu& g = p.gpus[i];
    fmt::format_to(out, "{{\"gpu\":{}", i);
    put_unless(out, "rate", g.rate, 1.0);
    put_unless(out, "background_seconds", g.background_seconds, 0.0);
    put_unless(out, "memory_bytes", g.memory_bytes, unlimited_bytes);
    fmt::format_to(out, "}}\n");
  }
  for (std::size_t i = 0; i < p.pes.size(); ++i) {
    const balance_pe& pe = p.pes[i];
    fmt::format_to(out, "{{\"pe\":{},\"rank\":{},\"node\":{}", i, pe.rank, pe.node);
    put_unless(out, "gpu", pe.gpu, no_gpu);
    put_unless(out, "rate", pe.rate, 1.0);
    put_unless(out, "background_seconds", pe.background_seconds, 0.0);
    fmt::format_to(out, "}}\n");
  }
}

void put_place(text_end out, const balance_problem& p, std::size_t element) {
  if (p.places.empty()) return;
  const auto& x = p.places[element];
  fmt::format_to(out, ",\"place\":[{}", x[0]);
  for (std::size_t d = 1; d < static_cast<std::size_t>(p.num_dimensions); ++d) fmt::format_to(out, ",{}", x[d]);
  fmt::format_to(out, "]");
}

void put_exchanges(text_end out, const communication_graph& g, std::size_t element) {
  if (g.empty()) return;
  const char* before = ",\"exchanges\":[";
  for (std::size_t k = g.first[element]; k < g.first[element + 1]; ++k) {
    if (static_cast<std::size_t>(g.partner[k]) < element) continue;
    fmt::format_to(out, "{}[{},{}]", before, g.partner[k], g.bytes[k]);
    before = ",";
  }
  if (*(before + 1) == '\0') fmt::format_to(out, "]");
}

void put_element(text_end out, const balance_problem& p, std::size_t i) {
  const balance_element& e = p.elements[i];
  fmt::format_to(out, "{{\"element\":{},\"pe\":{}", i, e.pe);
  put_unless(out, "host_seconds", e.host_seconds, 0.0);
  put_unless(out, "gpu_seconds", e.gpu_seconds, 0.0);
  put_unless(out, "host_bytes", e.host_bytes, std::uint64_t{0});
  put_unless(out, "device_bytes", e.device_bytes, std::uint64_t{0});
  put_unless(out, "move_bytes", e.move_bytes, std::uint64_t{0});
  if (e.pinned) fmt::format_to(out, ",\"pinned\":true");
  put_place(out, p, i);
  put_exchanges(out, p.communication, i);
  fmt::format_to(out, "}}\n");
}

}  // namespace

balance_record_writer::balance_record_writer(const std::string& file)
    : file_(file), out_(std::make_unique<std::ofstream>(file, std::ios::binary)) {
  put("");
}

balance_record_writer::~balance_record_writer() = default;

void balance_record_writer::put(const std::string& text) {
  *out_ << text << std::flush;
  if (*out_) return;
  throw config_error(fmt::format("{} cannot be written, where loads are recorded: {}", file_, std::strerror(errno)));
}

void balance_record_writer::write(const balance_record& record) {
  const balance_problem& p = record.problem;
  check_problem(p);
  std::string text;
  const text_end out(text);
  fmt::format_to(out, "{{\"imbrex_balance\":{},\"program\":{},\"step\":{},\"gpus\":{},\"pes\":{},\"elements\":{}",
                 balance_record_version,
                 nlohmann::json(record.program).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace),
                 record.step, p.gpus.size(), p.pes.size(), p.elements.size());
  if (!p.places.empty()) fmt::format_to(out, ",\"dimensions\":{}", p.num_dimensions);
  fmt::format_to(out, "}}\n");
  put_machine(out, p);
  for (std::size_t i = 0; i < p.elements.size(); ++i) {
    put_element(out, p, i);
    if (text.size() < (std::size_t{1} << 20)) continue;
    put(text);
    text.clear();
  }
  put(text);
}

}  // namespace imbrex
