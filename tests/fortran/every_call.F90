! Every MPI function that Offramp exports, called from Fortran with its result checked. Those that deal with other
! processes are in dynamic.F90.
#include "binding.inc"

module shared
  MODULE_OR_HEADER
  implicit none
  HEADER
  integer :: me, np, left, right, ierr
  integer :: copies = 0, deletes = 0, handled = 0, queries = 0, frees = 0
contains
  subroutine expect(ok, line)
    logical, intent(in) :: ok
    integer, intent(in) :: line
    if (ok) return
    write (0, '(a,i0,a,i0)') 'FAIL every_call line ', line, ' rank ', me
    call MPI_ABORT(WORLD, 1, ierr)
  end subroutine

#include "library.inc"

  ! --- callbacks, in Fortran ---

  subroutine add(in, inout, n, datatype)
#ifdef BINDING_F08
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: n
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(in, a, [n])
    call c_f_pointer(inout, b, [n])
    if (datatype /= MPI_INTEGER) call MPI_ABORT(WORLD, 2, ierr)
    b = a + b
#else
    integer :: n, datatype, in(n), inout(n)
    if (datatype /= MPI_INTEGER) call MPI_ABORT(WORLD, 2, ierr)
    inout = in + inout
#endif
  end subroutine

  subroutine copy_attribute(comm, key, extra, value, copied, flag, error)
    HANDLE(MPI_Comm) :: comm
    integer :: key, error
    integer(kind=MPI_ADDRESS_KIND) :: extra, value, copied
    logical :: flag
    copies = copies + 1
    copied = value + extra
    flag = .true.
    error = MPI_SUCCESS
    if (comm == MPI_COMM_NULL .or. key == MPI_KEYVAL_INVALID) error = MPI_ERR_OTHER
  end subroutine

  subroutine delete_attribute(comm, key, value, extra, error)
    HANDLE(MPI_Comm) :: comm
    integer :: key, error
    integer(kind=MPI_ADDRESS_KIND) :: extra, value
    deletes = deletes + 1
    error = MPI_SUCCESS
    ! Open MPI 4.1 reads the handle that it passes here from freed memory (valgrind says so natively, too): comm may be any.
    if (key == MPI_KEYVAL_INVALID .or. extra /= 3 .or. value < 0) error = MPI_ERR_OTHER
  end subroutine

  subroutine on_error(comm, code)
    HANDLE(MPI_Comm) :: comm
    integer :: code
    handled = handled + 1
    if (comm /= WORLD .or. code == MPI_SUCCESS) call MPI_ABORT(WORLD, 3, ierr)
  end subroutine

  subroutine query(extra, s, error)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    STATUS :: s
    integer :: error, e
    queries = queries + 1
    SOURCE_OF(s) = int(extra)
    TAG_OF(s) = 5
    call MPI_STATUS_SET_ELEMENTS(s, MPI_INTEGER, 4, e)
    call MPI_STATUS_SET_CANCELLED(s, .false., e)
    error = MPI_SUCCESS
  end subroutine

  subroutine free_state(extra, error)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: error
    frees = frees + int(extra) - 9
    error = MPI_SUCCESS
  end subroutine

  subroutine cancel_state(extra, complete, error)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: error
    if (extra /= 10 .or. complete) call MPI_ABORT(WORLD, 4, ierr)
    error = MPI_SUCCESS
  end subroutine
end module

program main
  SCOPE
  implicit none
  integer :: provided, length
  character(8) :: how
  double precision :: begin
  call get_command_argument(1, how, length)
  if (how == 'threads') then
    call MPI_INIT_THREAD(MPI_THREAD_FUNNELED, provided, ierr)
    CHECK(provided >= MPI_THREAD_FUNNELED)
  else
    call MPI_INIT(ierr)
  end if
  call MPI_COMM_RANK(WORLD, me, ierr)
  call MPI_COMM_SIZE(WORLD, np, ierr)
  right = mod(me + 1, np)
  left = mod(me + np - 1, np)
  begin = MPI_WTIME()
  CHECK(MPI_WTICK() > 0)
  call sends
  call persistent
  call probes
  call completions
  call communicators
  call collectives
  call varying
  call nonblocking
  call callbacks
  call neighbours
  call between
  call windows
  call files
  CHECK(MPI_WTIME() >= begin)
  call MPI_BARRIER(WORLD, ierr)
  if (me == 0) print '(a)', 'ok every_call'
  call MPI_FINALIZE(ierr)

contains

  subroutine sends
    integer :: out(3), in(3), i, size
    integer, save :: space(20000)
    STATUS :: s
    HANDLE(MPI_Request) :: r(2)
    out = [me, 2, 3]
    do i = 1, 4
      in = -1
      call MPI_IRECV(in, 3, MPI_INTEGER, left, i, WORLD, r(1), ierr)
      call MPI_BARRIER(WORLD, ierr)
      if (i == 1) call MPI_SEND(out, 3, MPI_INTEGER, right, i, WORLD, ierr)
      if (i == 2) call MPI_SSEND(out, 3, MPI_INTEGER, right, i, WORLD, ierr)
      if (i == 3) call MPI_RSEND(out, 3, MPI_INTEGER, right, i, WORLD, ierr)
      if (i == 4) then
        call attach(space, 80000)
        call MPI_BSEND(out, 3, MPI_INTEGER, right, i, WORLD, ierr)
      end if
      call MPI_WAIT(r(1), s, ierr)
      CHECK(in(1) == left .and. in(3) == 3 .and. SOURCE_OF(s) == left .and. TAG_OF(s) == i)
    end do
    do i = 1, 4
      in = -1
      call MPI_IRECV(in, 3, MPI_INTEGER, left, i, WORLD, r(1), ierr)
      call MPI_BARRIER(WORLD, ierr)
      if (i == 1) call MPI_ISEND(out, 3, MPI_INTEGER, right, i, WORLD, r(2), ierr)
      if (i == 2) call MPI_ISSEND(out, 3, MPI_INTEGER, right, i, WORLD, r(2), ierr)
      if (i == 3) call MPI_IRSEND(out, 3, MPI_INTEGER, right, i, WORLD, r(2), ierr)
      if (i == 4) call MPI_IBSEND(out, 3, MPI_INTEGER, right, i, WORLD, r(2), ierr)
      call MPI_WAITALL(2, r, MPI_STATUSES_IGNORE, ierr)
      CHECK(in(1) == left .and. in(3) == 3 .and. r(1) == MPI_REQUEST_NULL .and. r(2) == MPI_REQUEST_NULL)
    end do
    call detach(size)
    CHECK(size == 80000)
    call MPI_SENDRECV(out, 3, MPI_INTEGER, right, 1, in, 3, MPI_INTEGER, left, MPI_ANY_TAG, WORLD, s, ierr)
    CHECK(in(1) == left .and. TAG_OF(s) == 1)
    call MPI_SENDRECV_REPLACE(out, 3, MPI_INTEGER, right, 1, left, 1, WORLD, MPI_STATUS_IGNORE, ierr)
    CHECK(out(1) == left)
    if (me == 0) call MPI_SEND(out, 3, MPI_INTEGER, 1, 1, WORLD, ierr)
    if (me == 1) call MPI_RECV(in, 3, MPI_INTEGER, MPI_ANY_SOURCE, 1, WORLD, s, ierr)
    if (me == 1) CHECK(in(1) == np - 1 .and. SOURCE_OF(s) == 0)
  end subroutine

  subroutine attach(space, size)
    integer, asynchronous :: space(*)
    integer :: size
    call MPI_BUFFER_ATTACH(space, size, ierr)
  end subroutine

  subroutine detach(size)
#ifdef BINDING_F08
    use, intrinsic :: iso_c_binding, only: c_ptr
    type(c_ptr) :: gone
#else
    integer :: gone(2)
#endif
    integer :: size
    call MPI_BUFFER_DETACH(gone, size, ierr)
  end subroutine

  subroutine persistent
    integer, save :: out, in, space(1000)
    integer :: i, size
    HANDLE(MPI_Request) :: r(2)
    call attach(space, 4000)
    do i = 1, 4
      call MPI_RECV_INIT(in, 1, MPI_INTEGER, left, i, WORLD, r(1), ierr)
      if (i == 1) call MPI_SEND_INIT(out, 1, MPI_INTEGER, right, i, WORLD, r(2), ierr)
      if (i == 2) call MPI_SSEND_INIT(out, 1, MPI_INTEGER, right, i, WORLD, r(2), ierr)
      if (i == 3) call MPI_BSEND_INIT(out, 1, MPI_INTEGER, right, i, WORLD, r(2), ierr)
      if (i == 4) call MPI_RSEND_INIT(out, 1, MPI_INTEGER, right, i, WORLD, r(2), ierr)
      in = -1
      out = me + i
      call MPI_START(r(1), ierr)
      call MPI_BARRIER(WORLD, ierr)
      call MPI_START(r(2), ierr)
      call MPI_WAITALL(2, r, MPI_STATUSES_IGNORE, ierr)
      CHECK(in == left + i .and. r(1) /= MPI_REQUEST_NULL)
      if (i /= 4) then
        out = me + 10 * i
        call MPI_STARTALL(2, r, ierr)
        call MPI_WAITALL(2, r, MPI_STATUSES_IGNORE, ierr)
        CHECK(in == left + 10 * i)
      end if
      call MPI_REQUEST_FREE(r(1), ierr)
      call MPI_REQUEST_FREE(r(2), ierr)
      CHECK(r(1) == MPI_REQUEST_NULL)
    end do
    call detach(size)
  end subroutine

  subroutine probes
    integer :: out, in, i
    logical :: flag
    STATUS :: s
    HANDLE(MPI_Message) :: message
    HANDLE(MPI_Request) :: r(2)
    do i = 1, 4
      out = me + i
      in = -1
      call MPI_ISEND(out, 1, MPI_INTEGER, right, i, WORLD, r(1), ierr)
      flag = .false.
      if (i == 1) call MPI_PROBE(left, i, WORLD, s, ierr)
      do while (i == 2 .and. .not. flag)
        call MPI_IPROBE(left, i, WORLD, flag, s, ierr)
      end do
      if (i < 3) call MPI_RECV(in, 1, MPI_INTEGER, left, i, WORLD, MPI_STATUS_IGNORE, ierr)
      if (i == 3) then
        call MPI_MPROBE(left, i, WORLD, message, s, ierr)
        call MPI_MRECV(in, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierr)
      end if
      if (i == 4) then
        do while (.not. flag)
          call MPI_IMPROBE(MPI_ANY_SOURCE, i, WORLD, flag, message, s, ierr)
        end do
        call MPI_IMRECV(in, 1, MPI_INTEGER, message, r(2), ierr)
        call MPI_WAIT(r(2), MPI_STATUS_IGNORE, ierr)
      end if
      CHECK(SOURCE_OF(s) == left .and. TAG_OF(s) == i .and. in == left + i)
      call MPI_WAIT(r(1), MPI_STATUS_IGNORE, ierr)
    end do
  end subroutine

  subroutine completions
    integer :: out(2), in(2), i, index, count, indices(4), done
    logical :: flag
    STATUS :: s
    STATUSES(several, 4)
    HANDLE(MPI_Request) :: r(4)
    do i = 1, 8
      in = -1
      out = [me, me + 1]
      call MPI_IRECV(in(1), 1, MPI_INTEGER, left, 1, WORLD, r(1), ierr)
      call MPI_IRECV(in(2), 1, MPI_INTEGER, left, 2, WORLD, r(2), ierr)
      call MPI_ISEND(out(1), 1, MPI_INTEGER, right, 1, WORLD, r(3), ierr)
      call MPI_ISEND(out(2), 1, MPI_INTEGER, right, 2, WORLD, r(4), ierr)
      done = 0
      do while (done < 4)
        select case (i)
        case (1)
          call MPI_WAIT(r(done + 1), s, ierr)
          done = done + 1
        case (2)
          call MPI_WAITALL(4, r, several, ierr)
          done = 4
        case (3)
          call MPI_WAITANY(4, r, index, s, ierr)
          index = from_one(index)
          CHECK(index >= 1 .and. index <= 4)
          done = done + 1
        case (4)
          call MPI_WAITSOME(4, r, count, indices, several, ierr)
          CHECK(count >= 1 .and. from_one(indices(1)) >= 1)
          done = done + count
        case (5)
          call MPI_TEST(r(done + 1), flag, s, ierr)
          if (flag) done = done + 1
        case (6)
          call MPI_TESTALL(4, r, flag, MPI_STATUSES_IGNORE, ierr)
          if (flag) done = 4
        case (7)
          call MPI_TESTANY(4, r, index, flag, s, ierr)
          if (flag) done = done + 1
        case (8)
          call MPI_TESTSOME(4, r, count, indices, several, ierr)
          done = done + count
        end select
      end do
      CHECK(in(1) == left .and. in(2) == left + 1)
      CHECK(r(1) == MPI_REQUEST_NULL .and. r(4) == MPI_REQUEST_NULL)
    end do
    call MPI_REQUEST_GET_STATUS(r(1), flag, s, ierr)
    CHECK(flag)
    call MPI_IRECV(in(1), 1, MPI_INTEGER, left, 99, WORLD, r(1), ierr)
    call MPI_CANCEL(r(1), ierr)
    call MPI_WAIT(r(1), s, ierr)
    call MPI_TEST_CANCELLED(s, flag, ierr)
    CHECK(flag)
  end subroutine

  ! A ring on a communicator; then it is freed.
  subroutine use_and_free(comm, ranks, line)
    HANDLE(MPI_Comm) :: comm
    integer :: ranks, line, rank, size, mine, got
    call MPI_COMM_RANK(comm, rank, ierr)
    call MPI_COMM_SIZE(comm, size, ierr)
    call expect(size == ranks, line)
    mine = rank * 10 + line
    call MPI_SENDRECV(mine, 1, MPI_INTEGER, mod(rank + 1, size), 1, got, 1, MPI_INTEGER, mod(rank + size - 1, size), &
                      1, comm, MPI_STATUS_IGNORE, ierr)
    call expect(got == mod(rank + size - 1, size) * 10 + line, line)
    got = mine
    call MPI_BCAST(got, 1, MPI_INTEGER, size - 1, comm, ierr)
    call expect(got == (size - 1) * 10 + line, line)
    call MPI_COMM_FREE(comm, ierr)
    call expect(comm == MPI_COMM_NULL, line)
  end subroutine

  subroutine communicators
    HANDLE(MPI_Comm) :: c, d
    HANDLE(MPI_Group) :: g
    HANDLE(MPI_Request) :: r
    HANDLE(MPI_Datatype) :: t
    integer :: i, dims(1), index(np), edges(2 * np), from(1), to(1), degree(1)
    logical :: periods(1), remain(1)
    call MPI_COMM_DUP(WORLD, c, ierr)
    call use_and_free(c, np, __LINE__)
    call MPI_COMM_DUP_WITH_INFO(WORLD, MPI_INFO_NULL, c, ierr)
    call use_and_free(c, np, __LINE__)
    call MPI_COMM_SPLIT(WORLD, 0, -me, c, ierr)
    call use_and_free(c, np, __LINE__)
    call MPI_COMM_SPLIT_TYPE(WORLD, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, c, ierr)
    call use_and_free(c, np, __LINE__)
    call MPI_COMM_GROUP(WORLD, g, ierr)
    call MPI_COMM_CREATE(WORLD, g, c, ierr)
    call use_and_free(c, np, __LINE__)
    call MPI_COMM_CREATE_GROUP(WORLD, g, 7, c, ierr)
    call use_and_free(c, np, __LINE__)
    call MPI_GROUP_FREE(g, ierr)
    dims = np
    periods = .true.
    remain = .true.
    call MPI_CART_CREATE(WORLD, 1, dims, periods, .false., c, ierr)
    call MPI_CART_SUB(c, remain, d, ierr)
    call use_and_free(d, np, __LINE__)
    call use_and_free(c, np, __LINE__)
    index = [(2 * i, i = 1, np)]
    edges(1::2) = [(mod(i + 1, np), i = 0, np - 1)]
    edges(2::2) = [(mod(i + np - 1, np), i = 0, np - 1)]
    call MPI_GRAPH_CREATE(WORLD, np, index, edges, .false., c, ierr)
    call use_and_free(c, np, __LINE__)
    from = me
    to = right
    degree = 1
    call MPI_DIST_GRAPH_CREATE(WORLD, 1, from, degree, to, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., c, ierr)
    call use_and_free(c, np, __LINE__)
    from = left
    call MPI_DIST_GRAPH_CREATE_ADJACENT(WORLD, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
                                        c, ierr)
    call use_and_free(c, np, __LINE__)
    call MPI_COMM_IDUP(WORLD, c, r, ierr)
    call MPI_WAIT(r, MPI_STATUS_IGNORE, ierr)
    call use_and_free(c, np, __LINE__)
    call MPI_COMM_DUP(WORLD, c, ierr)
    call MPI_COMM_DISCONNECT(c, ierr)
    CHECK(c == MPI_COMM_NULL)
    call MPI_TYPE_VECTOR(2, 1, 2, MPI_INTEGER, t, ierr)
    call MPI_TYPE_COMMIT(t, ierr)
    call strided(t)
    call MPI_TYPE_FREE(t, ierr)
    CHECK(t == MPI_DATATYPE_NULL)
  end subroutine

  subroutine strided(t)
    HANDLE(MPI_Datatype) :: t
    integer :: out(3), in(3)
    out = [me, -5, me + 1]
    in = 0
    call MPI_SENDRECV(out, 1, t, right, 1, in, 1, t, left, 1, WORLD, MPI_STATUS_IGNORE, ierr)
    CHECK(all(in == [left, 0, left + 1]))
  end subroutine

  subroutine collectives
    integer :: a(np), b(np), x, y, i, counts(np)
    call MPI_BARRIER(WORLD, ierr)
    x = merge(42, -1, me == 0)
    call MPI_BCAST(x, 1, MPI_INTEGER, 0, WORLD, ierr)
    CHECK(x == 42)
    x = me + 1
    call MPI_REDUCE(x, y, 1, MPI_INTEGER, MPI_SUM, 0, WORLD, ierr)
    if (me == 0) CHECK(y == np * (np + 1) / 2)
    call MPI_ALLREDUCE(x, y, 1, MPI_INTEGER, MPI_MAX, WORLD, ierr)
    CHECK(y == np)
    call MPI_ALLREDUCE(MPI_IN_PLACE, x, 1, MPI_INTEGER, MPI_SUM, WORLD, ierr)
    CHECK(x == np * (np + 1) / 2)
    call MPI_GATHER(me, 1, MPI_INTEGER, a, 1, MPI_INTEGER, 0, WORLD, ierr)
    if (me == 0) CHECK(all(a == [(i, i = 0, np - 1)]))
    if (me == 0) then
      call MPI_SCATTER(a, 1, MPI_INTEGER, MPI_IN_PLACE, 1, MPI_INTEGER, 0, WORLD, ierr)
    else
      call MPI_SCATTER(a, 1, MPI_INTEGER, x, 1, MPI_INTEGER, 0, WORLD, ierr)
      CHECK(x == me)
    end if
    a(me + 1) = me + 3
    call MPI_ALLGATHER(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 1, MPI_INTEGER, WORLD, ierr)
    CHECK(all(a == [(i + 3, i = 0, np - 1)]))
    a = [(me * 100 + i, i = 0, np - 1)]
    call MPI_ALLTOALL(a, 1, MPI_INTEGER, b, 1, MPI_INTEGER, WORLD, ierr)
    CHECK(all(b == [(i * 100 + me, i = 0, np - 1)]))
    counts = 1
    a = [(i, i = 1, np)]
    call MPI_REDUCE_SCATTER(a, x, counts, MPI_INTEGER, MPI_SUM, WORLD, ierr)
    CHECK(x == np * (me + 1))
    call MPI_REDUCE_SCATTER_BLOCK(a, y, 1, MPI_INTEGER, MPI_SUM, WORLD, ierr)
    CHECK(y == x)
    call MPI_SCAN(me + 1, x, 1, MPI_INTEGER, MPI_SUM, WORLD, ierr)
    CHECK(x == (me + 1) * (me + 2) / 2)
    call MPI_EXSCAN(me + 1, y, 1, MPI_INTEGER, MPI_SUM, WORLD, ierr)
    if (me > 0) CHECK(y == x - me - 1)
  end subroutine

  ! Rank r contributes r + 1 integers that are all r.
  subroutine varying
    integer :: counts(np), places(np), total, i, mine(me + 1), got(me + 1), bytes(np), ones(np), row(np), column(np)
    integer, allocatable :: all_of(:), wanted(:)
    HANDLE(MPI_Datatype) :: types(np)
    counts = [(i, i = 1, np)]
    places = [(i * (i - 1) / 2, i = 1, np)]
    total = np * (np + 1) / 2
    allocate (all_of(total), wanted(total))
    do i = 1, np
      wanted(places(i) + 1:places(i) + i) = i - 1
    end do
    mine = me
    all_of = -1
    call MPI_GATHERV(mine, me + 1, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, 0, WORLD, ierr)
    if (me == 0) CHECK(all(all_of == wanted))
    got = -1
    call MPI_SCATTERV(wanted, counts, places, MPI_INTEGER, got, me + 1, MPI_INTEGER, np - 1, WORLD, ierr)
    CHECK(all(got == me))
    all_of = -1
    call MPI_ALLGATHERV(mine, me + 1, MPI_INTEGER, all_of, counts, places, MPI_INTEGER, WORLD, ierr)
    CHECK(all(all_of == wanted))
    ones = 1
    places = [(i - 1, i = 1, np)]
    row = [(me * 100 + i, i = 0, np - 1)]
    column = -1
    call MPI_ALLTOALLV(row, ones, places, MPI_INTEGER, column, ones, places, MPI_INTEGER, WORLD, ierr)
    CHECK(all(column == [(i * 100 + me, i = 0, np - 1)]))
    bytes = 4 * places
    types = MPI_INTEGER
    column = -1
    call MPI_ALLTOALLW(row, ones, bytes, types, column, ones, bytes, types, WORLD, ierr)
    CHECK(all(column == [(i * 100 + me, i = 0, np - 1)]))
  end subroutine

  subroutine nonblocking
    integer :: x(8), y(8), i, ones(np), places(np), bytes(np)
    integer :: ga(np), sc(np), ag(np), row(np), col(np, 8), gv(np), av(np), rs(np), rb(np)
    HANDLE(MPI_Request) :: r(17)
    HANDLE(MPI_Datatype) :: types(np)
    ones = 1
    places = [(i - 1, i = 1, np)]
    bytes = 4 * places
    types = MPI_INTEGER
    x = me + 1
    x(1) = merge(5, -1, me == 0)
    y = -1
    sc = [(10 + i, i = 0, np - 1)]
    row = [(me * 100 + i, i = 0, np - 1)]
    rs = 1
    call MPI_IBARRIER(WORLD, r(1), ierr)
    call MPI_IBCAST(x(1), 1, MPI_INTEGER, 0, WORLD, r(2), ierr)
    call MPI_IREDUCE(x(2), y(2), 1, MPI_INTEGER, MPI_SUM, 0, WORLD, r(3), ierr)
    call MPI_IALLREDUCE(x(3), y(3), 1, MPI_INTEGER, MPI_SUM, WORLD, r(4), ierr)
    call MPI_IGATHER(x(4), 1, MPI_INTEGER, ga, 1, MPI_INTEGER, 0, WORLD, r(5), ierr)
    call MPI_ISCATTER(sc, 1, MPI_INTEGER, y(4), 1, MPI_INTEGER, 0, WORLD, r(6), ierr)
    call MPI_IALLGATHER(x(4), 1, MPI_INTEGER, ag, 1, MPI_INTEGER, WORLD, r(7), ierr)
    call MPI_IALLTOALL(row, 1, MPI_INTEGER, col(:, 1), 1, MPI_INTEGER, WORLD, r(8), ierr)
    call MPI_IREDUCE_SCATTER(rs, y(5), ones, MPI_INTEGER, MPI_SUM, WORLD, r(9), ierr)
    call MPI_IREDUCE_SCATTER_BLOCK(rs, y(6), 1, MPI_INTEGER, MPI_SUM, WORLD, r(10), ierr)
    call MPI_ISCAN(x(5), y(7), 1, MPI_INTEGER, MPI_MAX, WORLD, r(11), ierr)
    call MPI_IEXSCAN(x(5), y(8), 1, MPI_INTEGER, MPI_MAX, WORLD, r(12), ierr)
    call MPI_IGATHERV(x(6), 1, MPI_INTEGER, gv, ones, places, MPI_INTEGER, 0, WORLD, r(13), ierr)
    call MPI_ISCATTERV(sc, ones, places, MPI_INTEGER, rb(1), 1, MPI_INTEGER, 0, WORLD, r(14), ierr)
    call MPI_IALLGATHERV(x(6), 1, MPI_INTEGER, av, ones, places, MPI_INTEGER, WORLD, r(15), ierr)
    call MPI_IALLTOALLV(row, ones, places, MPI_INTEGER, col(:, 2), ones, places, MPI_INTEGER, WORLD, r(16), ierr)
    call MPI_IALLTOALLW(row, ones, bytes, types, col(:, 3), ones, bytes, types, WORLD, r(17), ierr)
    call MPI_WAITALL(17, r, MPI_STATUSES_IGNORE, ierr)
    CHECK(x(1) == 5 .and. y(3) == np * (np + 1) / 2 .and. y(4) == 10 + me)
    if (me == 0) CHECK(y(2) == y(3) .and. all(ga == [(i, i = 1, np)]) .and. all(gv == ga))
    CHECK(all(ag == [(i, i = 1, np)]) .and. all(av == ag))
    CHECK(y(5) == np .and. y(6) == np .and. y(7) == me + 1 .and. rb(1) == 10 + me)
    if (me > 0) CHECK(y(8) == me)
    do i = 1, 3
      CHECK(col(1, i) == me .and. col(np, i) == (np - 1) * 100 + me)
    end do
  end subroutine

  subroutine callbacks
    HANDLE(MPI_Op) :: op
    HANDLE(MPI_Comm) :: c
    HANDLE(MPI_Errhandler) :: handler, old
    HANDLE(MPI_Request) :: r
    STATUS :: s
    integer :: x, key, count
    integer(kind=MPI_ADDRESS_KIND) :: value, three, ten
    logical :: flag
    call MPI_OP_CREATE(add, .true., op, ierr)
    call MPI_ALLREDUCE(me + 1, x, 1, MPI_INTEGER, op, WORLD, ierr)
    CHECK(x == np * (np + 1) / 2)
    call MPI_OP_FREE(op, ierr)
    three = 3
    value = 40
    call MPI_COMM_CREATE_KEYVAL(copy_attribute, delete_attribute, key, three, ierr)
    call MPI_COMM_SET_ATTR(WORLD, key, value, ierr)
    call MPI_COMM_DUP(WORLD, c, ierr)
    call MPI_COMM_GET_ATTR(c, key, value, flag, ierr)
    CHECK(flag .and. value == 43 .and. copies == 1)
    call MPI_COMM_FREE(c, ierr)
    CHECK(deletes == 1)
    call MPI_COMM_DELETE_ATTR(WORLD, key, ierr)
    call MPI_COMM_FREE_KEYVAL(key, ierr)
    CHECK(deletes == 2)
    call MPI_COMM_CREATE_ERRHANDLER(on_error, handler, ierr)
    call MPI_COMM_GET_ERRHANDLER(WORLD, old, ierr)
    call MPI_COMM_SET_ERRHANDLER(WORLD, handler, ierr)
    call MPI_SEND(x, 1, MPI_INTEGER, np, 1, WORLD, ierr)
    CHECK(handled == 1 .and. ierr /= MPI_SUCCESS)
    call MPI_COMM_SET_ERRHANDLER(WORLD, old, ierr)
    call MPI_ERRHANDLER_FREE(handler, ierr)
    ten = 10
    call MPI_GREQUEST_START(query, free_state, cancel_state, ten, r, ierr)
    call MPI_TEST(r, flag, MPI_STATUS_IGNORE, ierr)
    CHECK(.not. flag)
    call MPI_GREQUEST_COMPLETE(r, ierr)
    call MPI_WAIT(r, s, ierr)
    call MPI_GET_COUNT(s, MPI_INTEGER, count, ierr)
    CHECK(queries == 1 .and. frees == 1 .and. SOURCE_OF(s) == 10 .and. count == 4)
  end subroutine

  ! On a ring, with a left and a right neighbour. Functions with lists of types use a graph, because in the module
  ! mpi_f08 MPICH 4.0 gets the lengths of the lists right only there.
  subroutine neighbours
    HANDLE(MPI_Comm) :: c, graph
    HANDLE(MPI_Request) :: r(5)
    HANDLE(MPI_Datatype) :: types(2)
    integer :: out(2), in(2, 10), counts(2), places(2), dims(1), i
    integer(kind=MPI_ADDRESS_KIND) :: bytes(2)
    logical :: periods(1)
    dims = np
    periods = .true.
    call MPI_CART_CREATE(WORLD, 1, dims, periods, .false., c, ierr)
    places = [left, right]
    call MPI_DIST_GRAPH_CREATE_ADJACENT(WORLD, 2, places, MPI_UNWEIGHTED, 2, places, MPI_UNWEIGHTED, MPI_INFO_NULL, .false., &
                                        graph, ierr)
    out = [me * 10, me * 10 + 1]
    counts = 1
    places = [0, 1]
    bytes = [0, 4]
    types = MPI_INTEGER
    call MPI_NEIGHBOR_ALLGATHER(out, 1, MPI_INTEGER, in(:, 1), 1, MPI_INTEGER, c, ierr)
    call MPI_NEIGHBOR_ALLGATHERV(out, 1, MPI_INTEGER, in(:, 2), counts, places, MPI_INTEGER, c, ierr)
    call MPI_NEIGHBOR_ALLTOALL(out, 1, MPI_INTEGER, in(:, 3), 1, MPI_INTEGER, c, ierr)
    call MPI_NEIGHBOR_ALLTOALLV(out, counts, places, MPI_INTEGER, in(:, 4), counts, places, MPI_INTEGER, c, ierr)
    call MPI_NEIGHBOR_ALLTOALLW(out, counts, bytes, types, in(:, 5), counts, bytes, types, graph, ierr)
    call MPI_INEIGHBOR_ALLGATHER(out, 1, MPI_INTEGER, in(:, 6), 1, MPI_INTEGER, c, r(1), ierr)
    call MPI_INEIGHBOR_ALLGATHERV(out, 1, MPI_INTEGER, in(:, 7), counts, places, MPI_INTEGER, c, r(2), ierr)
    call MPI_INEIGHBOR_ALLTOALL(out, 1, MPI_INTEGER, in(:, 8), 1, MPI_INTEGER, c, r(3), ierr)
    call MPI_INEIGHBOR_ALLTOALLV(out, counts, places, MPI_INTEGER, in(:, 9), counts, places, MPI_INTEGER, c, r(4), ierr)
    call MPI_INEIGHBOR_ALLTOALLW(out, counts, bytes, types, in(:, 10), counts, bytes, types, graph, r(5), ierr)
    call MPI_WAITALL(5, r, MPI_STATUSES_IGNORE, ierr)
    do i = 1, 10
      CHECK(in(1, i) / 10 == left .and. in(2, i) / 10 == right)
    end do
    do i = 1, 2
      CHECK(all(in(:, i) == [left * 10, right * 10]) .and. all(in(:, i + 5) == in(:, i)))
    end do
    call MPI_COMM_FREE(graph, ierr)
    call MPI_COMM_FREE(c, ierr)
  end subroutine

  subroutine between
    HANDLE(MPI_Comm) :: half, inter, both
    integer :: color, leader, x
    color = merge(0, 1, me == 0)
    leader = merge(1, 0, me == 0)
    call MPI_COMM_SPLIT(WORLD, color, me, half, ierr)
    call MPI_INTERCOMM_CREATE(half, 0, WORLD, leader, 5, inter, ierr)
    call MPI_COMM_REMOTE_SIZE(inter, x, ierr)
    CHECK(x == merge(np - 1, 1, me == 0))
    call MPI_INTERCOMM_MERGE(inter, color == 1, both, ierr)
    call use_and_free(both, np, __LINE__)
    call MPI_COMM_FREE(inter, ierr)
    call MPI_COMM_FREE(half, ierr)
  end subroutine

#ifdef BINDING_F08
#define ADDRESS type(c_ptr)
#else
#define ADDRESS integer(kind=MPI_ADDRESS_KIND)
#endif

  subroutine windows
    use, intrinsic :: iso_c_binding, only: c_ptr
    HANDLE(MPI_Win) :: w
    HANDLE(MPI_Group) :: world_group, sources, targets
    HANDLE(MPI_Request) :: r
    ADDRESS :: base
    integer, asynchronous, save :: memory(4)
    integer :: mine, got, i
    logical :: done
    integer(kind=MPI_ADDRESS_KIND) :: bytes, place
    bytes = 16
    call MPI_WIN_ALLOCATE(bytes, 4, MPI_INFO_NULL, WORLD, base, w, ierr)
    call MPI_WIN_FREE(w, ierr)
    call MPI_WIN_ALLOCATE_SHARED(bytes, 4, MPI_INFO_NULL, WORLD, base, w, ierr)
    call MPI_WIN_FREE(w, ierr)
    call MPI_WIN_CREATE_DYNAMIC(MPI_INFO_NULL, WORLD, w, ierr)
    call MPI_WIN_FREE(w, ierr)
    CHECK(w == MPI_WIN_NULL)

    memory = 0
    call MPI_WIN_CREATE(memory, bytes, 4, MPI_INFO_NULL, WORLD, w, ierr)
    mine = me + 1
    place = 0
    call MPI_WIN_FENCE(0, w, ierr)
    call MPI_PUT(mine, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, w, ierr)
    call MPI_WIN_FENCE(0, w, ierr)
    got = -1
    call MPI_GET(got, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, w, ierr)
    call MPI_ACCUMULATE(mine, 1, MPI_INTEGER, right, place + 1, 1, MPI_INTEGER, MPI_SUM, w, ierr)
    call MPI_WIN_FENCE(0, w, ierr)
    CHECK(got == me + 1)
    call look(memory, 1, left + 1)
    call look(memory, 2, left + 1)

    call MPI_COMM_GROUP(WORLD, world_group, ierr)
    call MPI_GROUP_INCL(world_group, 1, [left], sources, ierr)
    call MPI_GROUP_INCL(world_group, 1, [right], targets, ierr)
    call MPI_WIN_POST(sources, 0, w, ierr)
    call MPI_WIN_START(targets, 0, w, ierr)
    mine = me + 40
    call MPI_PUT(mine, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, w, ierr)
    call MPI_WIN_COMPLETE(w, ierr)
    done = .false.
    do while (.not. done)
      call MPI_WIN_TEST(w, done, ierr)
    end do
    call look(memory, 1, left + 40)
    call MPI_WIN_POST(sources, 0, w, ierr)
    call MPI_WIN_START(targets, 0, w, ierr)
    mine = me + 50
    call MPI_PUT(mine, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, w, ierr)
    call MPI_WIN_COMPLETE(w, ierr)
    call MPI_WIN_WAIT(w, ierr)
    call look(memory, 1, left + 50)
    call MPI_GROUP_FREE(world_group, ierr)
    call MPI_GROUP_FREE(sources, ierr)
    call MPI_GROUP_FREE(targets, ierr)
    call MPI_BARRIER(WORLD, ierr)

    call MPI_WIN_LOCK_ALL(0, w, ierr)
    call MPI_FETCH_AND_OP(mine, got, MPI_INTEGER, right, place, MPI_REPLACE, w, ierr)
    call MPI_WIN_FLUSH(right, w, ierr)
    CHECK(got == me + 50)
    call MPI_WIN_FLUSH_LOCAL(right, w, ierr)
    call MPI_WIN_FLUSH_LOCAL_ALL(w, ierr)
    call MPI_WIN_SYNC(w, ierr)
    i = me + 60
    call MPI_COMPARE_AND_SWAP(i, mine, got, MPI_INTEGER, right, place, w, ierr)
    call MPI_WIN_FLUSH_ALL(w, ierr)
    CHECK(got == mine)
    mine = 2
    call MPI_GET_ACCUMULATE(mine, 1, MPI_INTEGER, got, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, MPI_SUM, w, ierr)
    call MPI_WIN_FLUSH(right, w, ierr)
    CHECK(got == me + 60)
    call MPI_RGET(got, 1, MPI_INTEGER, right, place, 1, MPI_INTEGER, w, r, ierr)
    call MPI_WAIT(r, MPI_STATUS_IGNORE, ierr)
    CHECK(got == me + 62)
    mine = 7
    call MPI_RPUT(mine, 1, MPI_INTEGER, right, place + 2, 1, MPI_INTEGER, w, r, ierr)
    call MPI_WAIT(r, MPI_STATUS_IGNORE, ierr)
    call MPI_WIN_FLUSH(right, w, ierr)
    call MPI_RACCUMULATE(mine, 1, MPI_INTEGER, right, place + 2, 1, MPI_INTEGER, MPI_SUM, w, r, ierr)
    call MPI_WAIT(r, MPI_STATUS_IGNORE, ierr)
    call MPI_WIN_FLUSH(right, w, ierr)
    call MPI_RGET_ACCUMULATE(mine, 1, MPI_INTEGER, got, 1, MPI_INTEGER, right, place + 2, 1, MPI_INTEGER, MPI_SUM, w, r, &
                             ierr)
    call MPI_WAIT(r, MPI_STATUS_IGNORE, ierr)
    CHECK(got == 14)
    call MPI_WIN_UNLOCK_ALL(w, ierr)
    call MPI_BARRIER(WORLD, ierr)
    call MPI_WIN_LOCK(MPI_LOCK_EXCLUSIVE, right, 0, w, ierr)
    call MPI_GET(got, 1, MPI_INTEGER, right, place + 2, 1, MPI_INTEGER, w, ierr)
    call MPI_WIN_UNLOCK(right, w, ierr)
    CHECK(got == 21)
    call MPI_WIN_FREE(w, ierr)
  end subroutine

  ! Out of line: the compiler must not know what MPI has written.
  subroutine look(memory, place, wanted)
    integer, volatile :: memory(4)
    integer :: place, wanted
    CHECK(memory(place) == wanted)
  end subroutine

  subroutine files
    HANDLE(MPI_File) :: f
    STATUS :: s
    integer :: x, got
    integer(kind=MPI_OFFSET_KIND) :: place, bytes
    call MPI_FILE_OPEN(WORLD, 'every_call.data', MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, f, &
                       ierr)
    CHECK(ierr == MPI_SUCCESS)
    bytes = 4 * np
    place = 0
    call MPI_FILE_SET_SIZE(f, bytes, ierr)
    call MPI_FILE_PREALLOCATE(f, bytes, ierr)
    CHECK(ierr == MPI_SUCCESS)
    call MPI_FILE_SET_ATOMICITY(f, .true., ierr)
    CHECK(ierr == MPI_SUCCESS)
    call MPI_FILE_SET_ATOMICITY(f, .false., ierr)
    call MPI_FILE_SET_VIEW(f, place, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
    x = me + 100
    place = me
    call MPI_FILE_WRITE_AT_ALL(f, place, x, 1, MPI_INTEGER, s, ierr)
    call MPI_FILE_SYNC(f, ierr)
    call MPI_BARRIER(WORLD, ierr)
    place = right
    call MPI_FILE_READ_AT_ALL(f, place, got, 1, MPI_INTEGER, s, ierr)
    CHECK(got == right + 100)
    call MPI_FILE_SEEK(f, place, MPI_SEEK_SET, ierr)
    call MPI_FILE_WRITE_ALL(f, x, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call MPI_FILE_SYNC(f, ierr)
    call MPI_BARRIER(WORLD, ierr)
    place = me
    call MPI_FILE_SEEK(f, place, MPI_SEEK_SET, ierr)
    call MPI_FILE_READ_ALL(f, got, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    CHECK(got == left + 100)
    place = 0
    call MPI_FILE_SEEK_SHARED(f, place, MPI_SEEK_SET, ierr)
    call MPI_FILE_WRITE_ORDERED(f, x, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call MPI_FILE_SEEK_SHARED(f, place, MPI_SEEK_SET, ierr)
    call MPI_FILE_READ_ORDERED(f, got, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    CHECK(got == me + 100)
    place = me
    call MPI_FILE_WRITE_AT(f, place, x, 1, MPI_INTEGER, s, ierr)
    call MPI_FILE_READ_AT(f, place, got, 1, MPI_INTEGER, s, ierr)
    CHECK(got == me + 100)
    call MPI_FILE_SEEK(f, place, MPI_SEEK_SET, ierr)
    call MPI_FILE_WRITE(f, x, 1, MPI_INTEGER, s, ierr)
    call MPI_FILE_SEEK(f, place, MPI_SEEK_SET, ierr)
    call MPI_FILE_READ(f, got, 1, MPI_INTEGER, s, ierr)
    CHECK(got == me + 100)
    place = 0
    call MPI_FILE_SEEK_SHARED(f, place, MPI_SEEK_SET, ierr)
    call MPI_FILE_WRITE_SHARED(f, x, 1, MPI_INTEGER, s, ierr)
    call MPI_BARRIER(WORLD, ierr)
    call MPI_FILE_SEEK_SHARED(f, place, MPI_SEEK_SET, ierr)
    call MPI_FILE_READ_SHARED(f, got, 1, MPI_INTEGER, s, ierr)
    CHECK(got >= 100 .and. got < 100 + np)
    call MPI_FILE_CLOSE(f, ierr)
    CHECK(f == MPI_FILE_NULL)
  end subroutine
end program
