#include "tree/tree_parameters.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "tree/tree.h"

namespace uts {
namespace {

bool has_shape(const tree_parameters& p) { return p.kind == tree_kind::geometric || p.kind == tree_kind::hybrid; }
bool has_inner_nodes(const tree_parameters& p) { return p.kind == tree_kind::binomial || p.kind == tree_kind::hybrid; }

[[noreturn]] void refuse(const std::string& what) { throw imbrex::usage_error(what); }

void check_inner_nodes(const tree_parameters& p) {
  if (p.branching < 0 || p.branching > most_children)
    refuse(fmt::format("-m {} cannot be used: give 0 to {}", p.branching, most_children));
  if (!(p.inner_probability >= 0 && p.inner_probability <= 1))
    refuse(fmt::format("-q {} is no probability: give 0 to 1", p.inner_probability));
  constexpr double most = 1.01;  // T3L has 1.00007
  if (p.inner_probability * p.branching > most)
    refuse(fmt::format(
        "-q {} with -m {} gives a node {:.3g} children on average, and the tree no end: use -q up to {:.6g}",
        p.inner_probability, p.branching, p.inner_probability * p.branching, most / p.branching));
}

}  // namespace

bool same_tree(const tree_parameters& a, const tree_parameters& b) { return options_text(a) == options_text(b); }

void check(const tree_parameters& p) {
  if (!(p.root_branching >= 0 && p.root_branching <= 1e7))
    refuse(fmt::format("-b {} cannot be used: give 0 to 10000000", p.root_branching));
  if (p.kind != tree_kind::binomial && p.depth < 1) refuse(fmt::format("-d {} is too small: use at least 1", p.depth));
  if (p.kind == tree_kind::hybrid && !(p.shift >= 0 && p.shift <= 1))
    refuse(fmt::format("-f {} is no part of the depth: give 0 to 1", p.shift));
  if (has_inner_nodes(p)) check_inner_nodes(p);
}

bool depends_on(const tree_parameters& p, std::string_view option) {
  if (option == "-a") return has_shape(p);
  if (option == "-d") return p.kind != tree_kind::binomial;
  if (option == "-f") return p.kind == tree_kind::hybrid;
  if (option == "-q" || option == "-m") return has_inner_nodes(p);
  if (option == "-r") return p.kind != tree_kind::balanced;
  return true;
}

std::string options_text(const tree_parameters& p) {
  std::string text = fmt::format("-t {}", static_cast<int>(p.kind));
  const auto add = [&](const char* option, const auto& value) {
    if (depends_on(p, option)) text += fmt::format(" {} {}", option, value);
  };
  add("-a", static_cast<int>(p.shape));
  add("-d", p.depth);
  add("-b", p.root_branching);
  add("-f", p.shift);
  add("-q", p.inner_probability);
  add("-m", p.branching);
  add("-r", p.seed);
  return text;
}

std::string kind_text(const tree_parameters& p) {
  constexpr const char* kinds[] = {"binomial", "geometric", "hybrid", "balanced"};
  constexpr const char* shapes[] = {"linear", "exponential", "cyclic", "fixed"};
  const std::string kind = kinds[static_cast<int>(p.kind)];
  return has_shape(p) ? fmt::format("{} ({})", kind, shapes[static_cast<int>(p.shape)]) : kind;
}

}  // namespace uts
