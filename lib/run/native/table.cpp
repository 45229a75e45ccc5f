#include "lib/run/native/table.hpp"

#include "lib/run/native/pmpi.hpp"

namespace offramp {

MpiTable native;
MpiTable dispatch;

int pmpi::Type_free(MPI_Datatype* type) {
  return native.Type_free(type);
}

}  // namespace offramp
