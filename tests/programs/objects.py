"""An mpi4py program: pickled objects, buffers, wildcards, matched probes and collectives. Prints the results of every rank in an order
that is independent of timing, so that two runs can be compared."""

import array
import hashlib

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
found = []


def note(what, value):
    found.append(f"{rank} {what} {value}")


# Objects around a ring, of growing size.
for length in (0, 1, 100, 10_000, 1_000_000):
    item = {"from": rank, "data": list(range(length % 1000)), "blob": bytes([rank % 251]) * length}
    request = comm.isend(item, dest=(rank + 1) % size, tag=length % 1000)
    got = comm.recv(source=(rank - 1) % size, tag=length % 1000)
    request.wait()
    digest = hashlib.sha256(got["blob"]).hexdigest()[:16]
    note("ring", (length, got["from"], len(got["data"]), len(got["blob"]), digest))

# From all ranks to rank 0, which receives from any source.
if rank == 0:
    seen = []
    for _ in range((size - 1) * 20):
        status = MPI.Status()
        value = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        seen.append((status.source, status.tag, value))
    for source in range(1, size):
        assert [v for s, _, v in seen if s == source] == [(source, i) for i in range(20)], "messages overtook"
    note("wildcards", sorted(seen))
else:
    for i in range(20):
        comm.send((rank, i), dest=0, tag=i % 3)

comm.Barrier()  # the wildcard above must not match later messages

# Matched probes and receives by hand.
if rank == 0:
    for source in range(1, size):
        message = comm.mprobe(source=source)
        note("mprobe", message.recv())
elif rank < size:
    comm.send(f"greetings from {rank}", dest=0)

# Buffers, persistent requests, sendrecv.
out = array.array("d", [rank + i / 8 for i in range(5000)])
into = array.array("d", [0.0] * 5000)
comm.Sendrecv(out, dest=(rank + 1) % size, recvbuf=into, source=(rank - 1) % size)
note("sendrecv", sum(into))
send = comm.Send_init(out, dest=(rank + 1) % size, tag=9)
recv = comm.Recv_init(into, source=(rank - 1) % size, tag=9)
for turn in range(5):
    out[0] = turn
    MPI.Prequest.Startall([recv, send])
    MPI.Request.Waitall([recv, send])
    note("persistent", into[0])
send.Free()
recv.Free()

# Collectives of objects and of buffers.
note("bcast", comm.bcast({"root": 1 % size, "values": list(range(50))}, root=1 % size)["values"][-1])
note("gather", comm.gather(rank * 3, root=0))
note("scatter", comm.scatter([i * i for i in range(size)] if rank == 0 else None, root=0))
note("allgather", comm.allgather((rank, str(rank))))
note("reduce", comm.reduce([rank], op=MPI.SUM, root=0))
note("allreduce", comm.allreduce(rank + 1, op=MPI.PROD))
note("alltoall", comm.alltoall([rank * 100 + i for i in range(size)]))
total = array.array("i", [0] * 1000)
comm.Reduce(array.array("i", [rank + i for i in range(1000)]), total, op=MPI.MAX, root=size - 1)
note("Reduce", sum(total))
blocks = array.array("i", [0] * 4 * size) if rank == 0 else None
comm.Gather(array.array("i", [rank] * 4), blocks, root=0)
note("Gather", list(blocks) if rank == 0 else None)
data = array.array("d", [rank] * 3000)
comm.Ibcast(data, root=0).Wait()
note("Ibcast", sum(data))

# Communicators.
half = comm.Split(rank % 2, -rank)
note("split", (half.rank, half.size, half.allgather(rank)))
half.Free()
twin = comm.Dup()
note("dup", twin.sendrecv(rank, dest=(rank + 1) % size, source=(rank - 1) % size))
twin.Free()

for lines in comm.gather(found, root=0) or []:
    print("\n".join(lines))
