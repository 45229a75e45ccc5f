// Chapter 3.6: the buffer of MPI_Bsend. It is attached at the MPI library too, for the communicators that
// stay there; each side counts its own messages only.
#include "lib/mpi/session.hpp"
#include "lib/native/native.h"

namespace offramp::face {

int Buffer_attach(void* buffer, int size) {
  Call call(Function::kBuffer_attach);
  const int code = call.unlocked([&] { return native.Buffer_attach(buffer, size); });
  if (code == MPI_SUCCESS && call.session.carries) call.session.bsend.attach(static_cast<std::size_t>(size));
  return code;
}

int Buffer_detach(void* buffer, int* size) {
  Call call(Function::kBuffer_detach);
  if (call.session.carries) {
    call.wait([&] { return call.session.bsend.empty(); });
    call.session.bsend.detach();
  }
  return call.unlocked([&] { return native.Buffer_detach(buffer, size); });
}

}  // namespace offramp::face
