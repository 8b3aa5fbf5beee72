#include "imbrex/balance/balance_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {

bool is_amount(double x) { return std::isfinite(x) && x >= 0; }

void check_amount(const char* whose, std::size_t number, const char* what, double value) {
  if (is_amount(value)) return;
  throw usage_error(fmt::format("{} {} has {} {}: give a finite number, 0 or more", whose, number, what, value));
}

void check_rate(const char* whose, std::size_t number, double rate) {
  if (std::isfinite(rate) && rate > 0) return;
  throw usage_error(fmt::format("{} {} has rate {}: give a finite number above 0", whose, number, rate));
}

void check_machine(const balance_problem& p) {
  if (p.pes.empty()) throw usage_error("there are 0 PEs to balance: give at least one");
  std::vector<int> node_of(p.gpus.size(), -1);
  for (std::size_t g = 0; g < p.gpus.size(); ++g) {
    check_rate("GPU", g, p.gpus[g].rate);
    check_amount("GPU", g, "background seconds", p.gpus[g].background_seconds);
  }
  for (std::size_t i = 0; i < p.pes.size(); ++i) {
    const balance_pe& pe = p.pes[i];
    check_rate("PE", i, pe.rate);
    check_amount("PE", i, "background seconds", pe.background_seconds);
    if (pe.rank < 0 || pe.node < 0)
      throw usage_error(fmt::format("PE {} is of rank {} and node {}: count both from 0", i, pe.rank, pe.node));
    if (pe.gpu == no_gpu) continue;
    if (pe.gpu < 0 || static_cast<std::size_t>(pe.gpu) >= p.gpus.size()) {
      throw usage_error(fmt::format("PE {} uses GPU {}, but there are {}: count GPUs of all nodes from 0, no GPU is {}",
                                    i, pe.gpu, p.gpus.size(), no_gpu));
    }
    int& node = node_of[static_cast<std::size_t>(pe.gpu)];
    if (node >= 0 && node != pe.node) {
      throw usage_error(fmt::format("GPU {} is used by PEs of nodes {} and {}: count GPUs of all nodes from 0", pe.gpu,
                                    node, pe.node));
    }
    node = pe.node;
  }
}

void check_elements(const balance_problem& p) {
  if (p.elements.size() > static_cast<std::size_t>(INT32_MAX))
    throw usage_error(fmt::format("there are {} elements: balance at most {}", p.elements.size(), INT32_MAX));
  for (std::size_t i = 0; i < p.elements.size(); ++i) {
    const balance_element& e = p.elements[i];
    if (e.pe < 0 || static_cast<std::size_t>(e.pe) >= p.pes.size())
      throw usage_error(fmt::format("element {} is on PE {}, but there are {}", i, e.pe, p.pes.size()));
    if (!is_amount(e.host_seconds)) check_amount("element", i, "host seconds", e.host_seconds);
    if (!is_amount(e.gpu_seconds)) check_amount("element", i, "GPU seconds", e.gpu_seconds);
    if (e.needs_gpu() && p.pes[static_cast<std::size_t>(e.pe)].gpu == no_gpu) {
      throw usage_error(
          fmt::format("element {} needs a GPU ({} s, {} B), but PE {} has none: count its work as the host's", i,
                      e.gpu_seconds, e.device_bytes, e.pe));
    }
  }
}

void check_places(const balance_problem& p) {
  if (p.places.empty()) return;
  if (p.places.size() != p.elements.size()) {
    throw usage_error(fmt::format("there are {} places for {} elements: give each a place, or none any",
                                  p.places.size(), p.elements.size()));
  }
  if (p.num_dimensions < 1 || p.num_dimensions > 3)
    throw usage_error(fmt::format("places have {} coordinates: 1, 2 or 3 count", p.num_dimensions));
  for (std::size_t i = 0; i < p.places.size(); ++i) {
    const auto& x = p.places[i];
    if (!std::isfinite(x[0]) || !std::isfinite(x[1]) || !std::isfinite(x[2]))
      throw usage_error(
          fmt::format("the place of element {} is ({}, {}, {}): give finite numbers", i, x[0], x[1], x[2]));
  }
}

/// Every pair stands in both rows: each row is by number, so that the k-th time that a row is named comes in the order
/// of its entries.
void check_pairs(const communication_graph& g) {
  std::vector<std::size_t> next(g.first.begin(), g.first.end() - 1);
  for (std::size_t i = 0; i + 1 < g.first.size(); ++i) {
    for (std::size_t k = g.first[i]; k < g.first[i + 1]; ++k) {
      const auto other = static_cast<std::size_t>(g.partner[k]);
      const std::size_t back = next[other]++;
      if (back < g.first[other + 1] && g.partner[back] == static_cast<int>(i) && g.bytes[back] == g.bytes[k]) continue;
      throw usage_error(fmt::format(
          "elements {} and {} exchange {} B by the row of the first, but not by that of the other: make the "
          "graph by communication_graph::of",
          i, other, g.bytes[k]));
    }
  }
}

void check_graph(const balance_problem& p) {
  const communication_graph& g = p.communication;
  if (g.first.empty() && g.partner.empty() && g.bytes.empty()) return;
  const std::size_t n = p.elements.size();
  const bool sound = g.first.size() == n + 1 && g.first.front() == 0 && g.first.back() == g.partner.size() &&
                     g.bytes.size() == g.partner.size() && std::ranges::is_sorted(g.first);
  if (!sound) {
    throw usage_error(
        fmt::format("the communication graph has {} rows, {} partners and {} weights for {} elements: make "
                    "it by communication_graph::of",
                    g.first.size(), g.partner.size(), g.bytes.size(), n));
  }
  for (std::size_t i = 0; i < n; ++i) {
    int last = -1;
    for (std::size_t k = g.first[i]; k < g.first[i + 1]; ++k) {
      const int other = g.partner[k];
      if (other <= last || static_cast<std::size_t>(other) >= n || other == static_cast<int>(i) ||
          !is_amount(g.bytes[k])) {
        throw usage_error(fmt::format("element {} exchanges {} B with {}: partners are others, by number, each once", i,
                                      g.bytes[k], other));
      }
      last = other;
    }
  }
  check_pairs(g);
}

}  // namespace

communication_graph communication_graph::of(std::size_t num_elements, const std::vector<balance_traffic>& all) {
  const auto n = static_cast<std::int64_t>(num_elements);
  communication_graph g;
  g.first.assign(num_elements + 1, 0);
  for (const balance_traffic& t : all) {
    if (t.a < 0 || t.a >= n || t.b < 0 || t.b >= n || !is_amount(t.bytes)) {
      throw usage_error(fmt::format("elements {} and {} of {} cannot exchange {} B", t.a, t.b, num_elements, t.bytes));
    }
    if (t.a == t.b) continue;
    ++g.first[static_cast<std::size_t>(t.a) + 1];
    ++g.first[static_cast<std::size_t>(t.b) + 1];
  }
  std::partial_sum(g.first.begin(), g.first.end(), g.first.begin());
  struct entry {
    int partner;
    double bytes;
    std::size_t order;
  };
  std::vector<entry> entries(g.first.back());
  std::vector<std::size_t> next(g.first.begin(), g.first.end() - 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const balance_traffic& t = all[i];
    if (t.a == t.b) continue;
    entries[next[static_cast<std::size_t>(t.a)]++] = {t.b, t.bytes, i};
    entries[next[static_cast<std::size_t>(t.b)]++] = {t.a, t.bytes, i};
  }
  // Both rows of a pair have what it exchanges in the order given, so that their sums are the same bits.
  g.partner.reserve(entries.size());
  g.bytes.reserve(entries.size());
  std::size_t begin = 0;
  for (std::size_t i = 0; i < num_elements; ++i) {
    const std::size_t end = g.first[i + 1];
    const auto at = [&](std::size_t k) { return entries.begin() + static_cast<std::ptrdiff_t>(k); };
    std::sort(at(begin), at(end), [](const entry& a, const entry& b) {
      return a.partner != b.partner ? a.partner < b.partner : a.order < b.order;
    });
    const std::size_t row = g.partner.size();
    for (std::size_t k = begin; k < end; ++k) {
      if (g.partner.size() > row && g.partner.back() == entries[k].partner) {
        g.bytes.back() += entries[k].bytes;
      } else {
        g.partner.push_back(entries[k].partner);
        g.bytes.push_back(entries[k].bytes);
      }
    }
    begin = end;
    g.first[i + 1] = g.partner.size();
  }
  return g;
}

void check_problem(const balance_problem& problem) {
  check_machine(problem);
  check_elements(problem);
  check_places(problem);
  check_graph(problem);
}

}  // namespace imbrex
