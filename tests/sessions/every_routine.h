// Includes routines.def twice, as it is and with large counts, with IX_ROUTINE as the includer defines it:
// IX_ROUTINE(name, params, args, ...). The includer undefines it.
#define IX_NAME(name) name
#define IX_COUNT int
#define IX_DISPL int
#include "routines.def"
#undef IX_DISPL
#undef IX_COUNT
#undef IX_NAME
#define IX_NAME(name) name##_c
#define IX_COUNT MPI_Count
#define IX_DISPL MPI_Aint
#define IX_COUNTED
#include "routines.def"
#undef IX_COUNTED
#undef IX_DISPL
#undef IX_COUNT
#undef IX_NAME
