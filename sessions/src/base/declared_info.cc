#include "base/declared_info.h"

#include "base/settings.h"

namespace imbrex::sessions::IX_MPI {

namespace {

/// Long enough for every pattern and for lists of all kinds.
struct info_value {
  char text[512] = "";
  bool found = false;
};

info_value value_in(MPI_Info info, const char* key) {
  info_value value;
  int found = 0;
  if (mpi.Info_get(info, key, static_cast<int>(sizeof value.text) - 1, value.text, &found) != MPI_SUCCESS) found = 0;
  value.found = found != 0;
  return value;
}

declaration kinds_in(MPI_Info info, const char* key) {
  declaration said;
  const info_value kinds = value_in(info, key);
  char unknown[128];
  if (kinds.found && !parse_kinds(kinds.text, said, unknown, sizeof unknown)) {
    complain("unknown memory kind \"%s\" in %s=%s, which declares nothing; use %s", unknown, key, kinds.text,
             valid_kinds);
  }
  return said;
}

declaration pattern_in(MPI_Info info) {
  declaration said;
  const info_value pattern = value_in(info, pattern_key);
  if (pattern.found && !parse_pattern(pattern.text, said)) {
    complain("unknown pattern %s=%s declares nothing; use %s", pattern_key, pattern.text, valid_patterns);
  }
  return said;
}

bool contradict(const declaration& a, const declaration& b) { return !a.empty() && !b.empty() && !a.same_places(b); }

}  // namespace

declaration declared_by(MPI_Info info) {
  if (info == mpi.info_null) return {};
  const declaration pattern = pattern_in(info);
  const declaration kinds = kinds_in(info, kinds_key);
  const declaration asserted = kinds_in(info, assert_kinds_key);
  if (contradict(pattern, kinds) || contradict(pattern, asserted) || contradict(kinds, asserted)) {
    complain("an info contradicts itself and declares nothing: %s says %s, %s says %s, %s says %s", pattern_key,
             name_of(pattern), kinds_key, name_of(kinds), assert_kinds_key, name_of(asserted));
    return {};
  }
  if (!pattern.empty()) return pattern;
  return asserted.empty() && !asserted.is_mixture ? kinds : asserted;
}

declaration combined(const declaration& inherited, const declaration& said) {
  if (said.empty() && !(said.is_mixture && !inherited.from_session)) return inherited;
  if (!inherited.from_session) return said;
  if (contradict(inherited, said)) {
    complain("a communicator is declared %s, but its session %s; the session's declaration holds", name_of(said),
             name_of(inherited));
  }
  return inherited;
}

}  // namespace imbrex::sessions::IX_MPI
