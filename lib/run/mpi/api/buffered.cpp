// MPI chapter 3.6: the buffer of MPI_Bsend. It is also attached in the MPI library, for communicators that
// Offramp does not carry. Each side counts only its own messages.
#include "lib/run/mpi/api/entries.hpp"
#include "lib/run/mpi/runtime/session.hpp"

namespace offramp {
namespace {

template <typename Form>
int attach(void* buffer, typename Form::Count size) {
  InterposedCall call(Form::kBuffer_attach);
  const int code = call.unlocked([&] { return (native.*Form::Buffer_attach)(buffer, size); });
  // The library has accepted the buffer, so its own checks of the arguments apply to both.
  if (code == MPI_SUCCESS && call.session.carries())
    call.session.bsend().attach(static_cast<std::size_t>(size));
  return code;
}

template <typename Form>
int detach(void* buffer, typename Form::Count* size) {
  InterposedCall call(Form::kBuffer_detach);
  if (call.session.carries()) {
    // MPI_Buffer_detach returns only when all buffered messages have left.
    call.wait([&] { return call.session.bsend().empty(); });
    call.session.bsend().detach();
  }
  return call.unlocked([&] { return (native.*Form::Buffer_detach)(buffer, size); });
}

}  // namespace

template <typename F>
void fill_buffered(MpiTable& table) {
  table.*F::Buffer_attach = attach<F>;
  table.*F::Buffer_detach = detach<F>;
}
OFFRAMP_IN_BOTH_FORMS(fill_buffered)

}  // namespace offramp
