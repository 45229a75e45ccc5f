-- Wireshark's view of the headers that Offramp's captures hold: ZRLMPI over UDP, ACCL (cclo) over TCP, UDP and
-- RoCE, and the fragments of Tinsel. Put it into Wireshark's folder of personal Lua plugins, or:
--
--   tshark -X lua_script:offramp.lua -r run.0.pcap
--
-- The tables of fields are those of the models (offramp explain header --backend zrlmpi, and so on); a test
-- compares them.

-- A script that is installed for everybody and named once more is there already.
if package.loaded["offramp dissectors"] then return end
package.loaded["offramp dissectors"] = true

local kinds = {[1] = ftypes.UINT8, [2] = ftypes.UINT16, [3] = ftypes.UINT24, [4] = ftypes.UINT32, [8] = ftypes.UINT64}

-- Fields as tables of offset, width, name, and what numbers mean.
local function make_fields(proto, rows, prefix, further)
  local list = further or {}
  for _, row in ipairs(rows) do
    local short = row[3]:lower():gsub("[^a-z0-9]+", "_"):gsub("_+$", "")
    local base = row[5] or base.DEC
    row.field = ProtoField.new(row[3], prefix .. "." .. short, kinds[row[2]], row[4], base)
    list[#list + 1] = row.field
  end
  proto.fields = list
end

local function add_fields(tree, rows, buffer, little)
  for _, row in ipairs(rows) do
    if row[1] + row[2] <= buffer:len() then
      local part = buffer(row[1], row[2])
      if little then tree:add_le(row.field, part) else tree:add(row.field, part) end
    end
  end
end

-- ZRLMPI: 32 bytes, little endian, then words.
local zrlmpi = Proto("zrlmpi", "cloudFPGA Message Passing Engine")
local zrlmpi_calls = {[0] = "SEND_INT", "RECV_INT", "SEND_FLOAT", "RECV_FLOAT", "BARRIER"}
local zrlmpi_types = {[1] = "SEND_REQUEST", [2] = "CLEAR_TO_SEND", [3] = "DATA", [4] = "ACK", [5] = "ERROR"}
local zrlmpi_rows = {
  -- fields: zrlmpi
  {0, 4, "start", nil, base.HEX},
  {4, 4, "destination"},
  {8, 4, "source"},
  {12, 4, "size"},
  {16, 1, "call", zrlmpi_calls},
  {17, 1, "type", zrlmpi_types},
  {18, 1, "tag[7:0]"},
  {19, 1, "flags", nil, base.HEX},
  {20, 3, "tag[31:8]"},
  {23, 2, "context"},
  {25, 3, "sequence"},
  {28, 4, "end", nil, base.HEX},
  -- end
}
local zrlmpi_errors = {[0] = "not named", "short header", "bad header", "source does not match", "wrong destination",
                       "wrong type", "timeout", [13] = "bad destination"}
-- Of an ERROR: the word behind the header.
local zrlmpi_error = ProtoField.uint32("zrlmpi.error", "error", base.DEC, zrlmpi_errors)
make_fields(zrlmpi, zrlmpi_rows, "zrlmpi", {zrlmpi_error})

local zrlmpi_magic = 0x96969696
local zrlmpi_port = 2718

function zrlmpi.dissector(buffer, pinfo, tree)
  pinfo.cols.protocol = "ZRLMPI"
  local whole = buffer:len() >= 32 and buffer(0, 4):uint() == zrlmpi_magic and buffer(28, 4):uint() == zrlmpi_magic
  if not whole then -- the rest of a message that began in an earlier datagram
    pinfo.cols.info = "continuation, " .. buffer:len() .. " bytes"
    tree:add(zrlmpi, buffer(), "ZRLMPI continuation")
    return buffer:len()
  end
  local kind = zrlmpi_types[buffer(17, 1):uint()] or "?"
  pinfo.cols.info = string.format("%s %d -> %d, %d words", kind, buffer(8, 4):le_uint(), buffer(4, 4):le_uint(),
                                  buffer(12, 4):le_uint())
  local sub = tree:add(zrlmpi, buffer(), "ZRLMPI " .. kind)
  add_fields(sub, zrlmpi_rows, buffer, true)
  if kind == "ERROR" and buffer:len() >= 36 then
    sub:add_le(zrlmpi_error, buffer(32, 4))
  elseif buffer:len() > 32 then
    sub:add(buffer(32), "payload, " .. buffer:len() - 32 .. " bytes")
  end
  return buffer:len()
end

DissectorTable.get("udp.port"):add(zrlmpi_port, zrlmpi)

-- ACCL: 64 bytes, little endian, in front of every message. Of a message only the first packet has it.
local accl = Proto("cclo", "ACCL message")
local accl_types = {[0] = "eager", "rendezvous data", "rendezvous address", "write done"}
local accl_rows = {
  -- fields: cclo
  {0, 4, "count"},
  {4, 4, "tag", nil, base.HEX},
  {8, 4, "src"},
  {12, 4, "seqn"},
  {16, 4, "strm"},
  {20, 2, "dst"},
  {22, 1, "msg_type", accl_types},
  {23, 1, "host"},
  {24, 8, "vaddr", nil, base.HEX},
  -- end
}
make_fields(accl, accl_rows, "cclo")

-- A header's last 32 bytes are zero, and its type is one of four. Packets in the middle of a message seldom are.
local function is_accl(buffer)
  if buffer:len() < 64 or buffer(22, 1):uint() > 3 then return false end
  for i = 32, 63 do
    if buffer(i, 1):uint() ~= 0 then return false end
  end
  return true
end

local function dissect_accl(buffer, pinfo, tree)
  if not is_accl(buffer) then
    pinfo.cols.protocol = "ACCL"
    pinfo.cols.info = "continuation, " .. buffer:len() .. " bytes"
    tree:add(accl, buffer(), "ACCL continuation")
    return buffer:len()
  end
  local kind = accl_types[buffer(22, 1):uint()]
  pinfo.cols.protocol = "ACCL"
  pinfo.cols.info = string.format("%s from %d, number %d, %d bytes", kind, buffer(8, 4):le_uint(),
                                  buffer(12, 4):le_uint(), buffer(0, 4):le_uint())
  local sub = tree:add(accl, buffer(), "ACCL " .. kind)
  add_fields(sub, accl_rows, buffer, true)
  if buffer:len() > 64 then sub:add(buffer(64), "payload, " .. buffer:len() - 64 .. " bytes") end
  return buffer:len()
end

function accl.dissector(buffer, pinfo, tree)
  return dissect_accl(buffer, pinfo, tree)
end

-- Rank r has port 5500 + r.
for _, name in ipairs({"tcp.port", "udp.port"}) do
  local ports = DissectorTable.get(name)
  for port = 5500, 5500 + 255 do ports:add(port, accl) end
end
-- Over RoCE any payload might be ours: only what is a header for certain is taken.
accl:register_heuristic("infiniband.payload", function(buffer, pinfo, tree)
  if not is_accl(buffer) then return false end
  dissect_accl(buffer, pinfo, tree)
  return true
end)

-- Tinsel: an Ethernet frame of a type for local experiments; our header tells what on the hardware is wires
-- beside the message.
local tinsel = Proto("tinsel", "Tinsel message")
local tinsel_kinds = {[0] = "to threads", "to a routing key"}
local tinsel_rows = {
  -- fields: tinsel
  {0, 1, "version"},
  {1, 1, "addressing", tinsel_kinds},
  {2, 2, "source_board"},
  {4, 1, "source_mailbox"},
  {5, 1, "source_thread"},
  {6, 1, "flits"},
  {7, 1, "destination_mailbox"},
  {8, 2, "destination_board"},
  {10, 2, "payload_bytes"},
  {12, 4, "key", nil, base.HEX},
  {16, 8, "thread_mask", nil, base.HEX},
  {24, 4, "word_0", nil, base.HEX},
  -- end
}
make_fields(tinsel, tinsel_rows, "tinsel")

function tinsel.dissector(buffer, pinfo, tree)
  pinfo.cols.protocol = "Tinsel"
  if buffer:len() < 28 then return 0 end
  local fragment = buffer(24, 2):uint()
  pinfo.cols.info = string.format("fragment %d from board %d mailbox %d thread %d %s", fragment,
                                  buffer(2, 2):uint(), buffer(4, 1):uint(), buffer(5, 1):uint(),
                                  tinsel_kinds[buffer(1, 1):uint()] or "?")
  local sub = tree:add(tinsel, buffer(), "Tinsel fragment " .. fragment)
  add_fields(sub, tinsel_rows, buffer, false)
  if buffer:len() > 28 then sub:add(buffer(28), "payload, " .. buffer:len() - 28 .. " bytes") end
  return buffer:len()
end

DissectorTable.get("ethertype"):add(0x88b5, tinsel)
