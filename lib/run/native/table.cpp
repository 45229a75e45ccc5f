// The definitions of both tables. A type is freed through `native`: this library exports the function itself,
// and replace_natives() may have put another one into the table.
#include "lib/run/native/table.hpp"

#include "lib/run/native/pmpi.hpp"

namespace offramp {

MpiTable native;
MpiTable dispatch;

int pmpi::Type_free(MPI_Datatype* type) {
  return native.Type_free(type);
}

}  // namespace offramp
