-- SPDX-License-Identifier: Apache-2.0 OR MIT
-- OrbCC's telemetry in Wireshark and tshark: what stands in the experimental IPv6 options of a capture with
-- telemetry.overhead = "wire". Data carry it in a hop-by-hop option, ACKs in a destination option.
--
--   wireshark -X lua_script:$(perigee dissector) senders.pcapng
--
-- Layouts (big endian, packed): fixed part 64 bits and 136 bits per hop; compact echo 128 bits; record of fixed size
-- (PINT) 128 bits. See crates/perigee-telemetry/src/wire.rs and pint.rs.

local orbcc = Proto("orbcc", "OrbCC telemetry")

local VERSION, FIXED_BYTES, HOP_BYTES, RECORD_BYTES = 1, 8, 17, 16
-- Hop of a compact echo without a measurement.
local BASELINE = 255

local function number(name, text)
  return ProtoField.uint64("orbcc." .. name, text)
end

local f = {
  form = ProtoField.string("orbcc.form", "Form"),
  hops = number("hops", "Hops"),
  path = ProtoField.uint64("orbcc.path", "Path", base.HEX),
  base_rtt = number("base_rtt_us", "Base RTT (us, 0 = unknown)"),
  cwnd = number("cwnd_bytes", "cwnd (bytes, 0 = unknown)"),
  hop = number("hop", "Hop"),
  ts = number("hop.ts_us", "Dequeued at (us modulo 2^24)"),
  rate = number("hop.rate_kbps", "Rate (kbit/s)"),
  q_out = number("hop.queue_out_bytes", "Queue left behind (bytes)"),
  q_in = number("hop.queue_in_bytes", "Queue found (bytes)"),
  tx = number("hop.tx_bytes", "Transmitted (bytes modulo 2^31)"),
  avg_rtt = number("hop.avg_rtt_us", "Mean base RTT (us, 0 = not yet measured)"),
  flows = number("hop.flows", "Flows"),
  saturated = ProtoField.bool("orbcc.hop.flows_saturated", "More flows than the field holds"),
  shaper = ProtoField.bool("orbcc.hop.shaper", "The rate is that of a shaper"),
  u = ProtoField.double("orbcc.utilisation", "Utilisation"),
  tau = number("interval_us", "Between the two samples (us)"),
  delay = number("queue_delay_us", "Queueing on the whole path (us)"),
}
orbcc.fields = f

local cut = ProtoExpert.new("orbcc.cut", "Telemetry cut short or of another version", expert.group.MALFORMED,
  expert.severity.ERROR)
orbcc.experts = { cut }

local option_data = Field.new("ipv6.opt.experimental")
local option_type = Field.new("ipv6.opt.type")
local stream = Field.new("tcp.stream")

-- An ACK's 16 bytes are a compact echo or a record of fixed size: the stream's data tell which.
local fixed_size = {}
function orbcc.init()
  fixed_size = {}
end

-- A 16-bit float: exponent 5, mantissa 11.
local function uf16(code)
  local e, m = math.floor(code / 2048), code % 2048
  if e == 0 then return m end
  return (2048 + m) * 2 ^ (e - 1)
end

-- Flows of a fixed-size record: exact up to 31.
local function flow_count(code)
  if code <= 31 then return code end
  return math.floor(31 * 1.03 ^ (code - 31) + 0.5)
end

local function times(unit)
  return function(code) return code * unit end
end

local function bit(n)
  return function(flags) return math.floor(flags / 2 ^ n) % 2 == 1 end
end

-- Field, bits, and what a code stands for. Without a field: read, not shown; "same" shows the bits before once more;
-- `under`: the field that it belongs to.
local HEADER = { { nil, 4 }, { f.hops, 8 }, { f.path, 16 }, { f.base_rtt, 20 }, { f.cwnd, 16, uf16 } }
local HOP = {
  { f.ts, 24 }, { f.rate, 16, uf16 }, { f.q_out, 16, uf16 }, { f.q_in, 16, uf16 }, { f.tx, 28, times(8) },
  { f.avg_rtt, 20 }, { f.flows, 12 }, { f.saturated, 4, bit(0) }, { f.shaper, "same", bit(1) },
}
local COMPACT = {
  { f.path, 16 }, { f.hop, 8 }, { f.u, 16, times(1 / 4096) }, { f.tau, 24 }, { f.rate, 16, uf16, under = f.hop },
  { f.avg_rtt, 20, under = f.hop }, { f.flows, 12, under = f.hop }, { f.delay, 16, uf16 },
}
local FIXED_SIZE = {
  { nil, 4 }, { f.u, 8, function(code) return code == 0 and 0 or 1.05 ^ (code - 1) / 4096 end },
  { f.flows, 8, flow_count }, { f.rate, 16, uf16 }, { f.delay, 12, times(64) }, { f.path, 32 }, { f.base_rtt, 24 },
  { f.cwnd, 16, uf16 },
}

local function is_number(field)
  return field ~= f.u and field ~= f.saturated and field ~= f.shaper
end

-- Shows the fields of a layout, each on the bytes that it touches.
local function show(tree, range, layout)
  local at, bits, shown = 0, 0, {}
  for _, entry in ipairs(layout) do
    local field, width, meaning = entry[1], entry[2], entry[3]
    if width ~= "same" then
      at, bits = at + bits, width
    end
    if field then
      local value = range:bitfield(at, bits)
      if meaning then value = meaning(value) end
      if is_number(field) then value = UInt64.new(value % 2 ^ 32, math.floor(value / 2 ^ 32)) end
      local first = math.floor(at / 8)
      local under = shown[entry.under] or tree
      shown[field] = under:add(field, range(first, math.ceil((at + bits) / 8) - first), value)
    end
  end
end

local function show_stack(tree, range)
  local hops = range:bitfield(4, 8)
  if range:bitfield(0, 4) ~= VERSION or range:len() ~= FIXED_BYTES + HOP_BYTES * hops then
    return false
  end
  tree:add(f.form, range, "stack")
  show(tree, range, HEADER)
  for i = 0, hops - 1 do
    local record = range(FIXED_BYTES + HOP_BYTES * i, HOP_BYTES)
    local hop = tree:add(f.hop, record, UInt64.new(i))
    show(hop, record, HOP)
    local rate, queue, flows = uf16(record:bitfield(24, 16)), uf16(record:bitfield(40, 16)), record:bitfield(120, 12)
    hop:append_text(string.format(": %d kbit/s, %d bytes queued, %d flows", rate, queue, flows))
  end
  return true
end

local function show_compact(tree, range)
  tree:add(f.form, range, range:bitfield(16, 8) == BASELINE and "compact, baseline" or "compact")
  show(tree, range, COMPACT)
  return true
end

local function show_fixed_size(tree, range)
  if range:bitfield(0, 4) ~= VERSION then
    return false
  end
  tree:add(f.form, range, "fixed size")
  show(tree, range, FIXED_SIZE)
  return true
end

-- The form of a block: stacks are never as long as the records.
local function form_of(range, in_data)
  if range:len() ~= RECORD_BYTES then
    return show_stack
  end
  local connection = stream()
  local key = connection and tostring(connection.value) or ""
  fixed_size[key] = fixed_size[key] or in_data
  return fixed_size[key] and show_fixed_size or show_compact
end

function orbcc.dissector(_, _, root)
  local types = { option_type() }
  local in_data = false
  for _, t in ipairs(types) do
    in_data = in_data or t.value == 0x3e
  end
  for _, option in ipairs({ option_data() }) do
    local range = option.range
    local tree = root:add(orbcc, range)
    if range:len() < FIXED_BYTES or not form_of(range, in_data)(tree, range) then
      tree:add_proto_expert_info(cut)
    end
  end
end

register_postdissector(orbcc, true)
