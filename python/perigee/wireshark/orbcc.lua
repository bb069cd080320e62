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

-- Reads fields one after another; each is shown on the bytes that it touches.
local function reader(range)
  local at = 0
  return function(bits)
    local first = math.floor(at / 8)
    local bytes = range(first, math.ceil((at + bits) / 8) - first)
    local value = range:bitfield(at, bits)
    at = at + bits
    return value, bytes
  end
end

local function add(tree, field, value, bytes)
  return tree:add(field, bytes, UInt64.new(value % 2 ^ 32, math.floor(value / 2 ^ 32)))
end

local function show_hop(tree, range, index)
  local take = reader(range)
  local hop = add(tree, f.hop, index, range)
  local ts, ts_at = take(24)
  local bw, bw_at = take(16)
  local q_out, out_at = take(16)
  local q_in, in_at = take(16)
  local tx, tx_at = take(28)
  local rtt, rtt_at = take(20)
  local flows, flows_at = take(12)
  local flags, flags_at = take(4)
  add(hop, f.ts, ts, ts_at)
  add(hop, f.rate, uf16(bw), bw_at)
  add(hop, f.q_out, uf16(q_out), out_at)
  add(hop, f.q_in, uf16(q_in), in_at)
  add(hop, f.tx, tx * 8, tx_at)
  add(hop, f.avg_rtt, rtt, rtt_at)
  add(hop, f.flows, flows, flows_at)
  hop:add(f.saturated, flags_at, flags % 2 == 1)
  hop:add(f.shaper, flags_at, math.floor(flags / 2) % 2 == 1)
  hop:append_text(string.format(": %d kbit/s, %d bytes queued, %d flows", uf16(bw), uf16(q_out), flows))
end

local function show_stack(tree, range)
  local take = reader(range(0, FIXED_BYTES))
  local version = take(4)
  local hops, hops_at = take(8)
  if version ~= VERSION or range:len() ~= FIXED_BYTES + HOP_BYTES * hops then
    return false
  end
  local path, path_at = take(16)
  local rtt, rtt_at = take(20)
  local cwnd, cwnd_at = take(16)
  tree:add(f.form, range, "stack")
  add(tree, f.hops, hops, hops_at)
  add(tree, f.path, path, path_at)
  add(tree, f.base_rtt, rtt, rtt_at)
  add(tree, f.cwnd, uf16(cwnd), cwnd_at)
  for i = 0, hops - 1 do
    show_hop(tree, range(FIXED_BYTES + HOP_BYTES * i, HOP_BYTES), i)
  end
  return true
end

local function show_compact(tree, range)
  local take = reader(range)
  local path, path_at = take(16)
  local hop, hop_at = take(8)
  local u, u_at = take(16)
  local tau, tau_at = take(24)
  local bw, bw_at = take(16)
  local rtt, rtt_at = take(20)
  local flows, flows_at = take(12)
  local delay, delay_at = take(16)
  tree:add(f.form, range, hop == 255 and "compact, baseline" or "compact")
  add(tree, f.path, path, path_at)
  local of_hop = add(tree, f.hop, hop, hop_at)
  add(of_hop, f.rate, uf16(bw), bw_at)
  add(of_hop, f.avg_rtt, rtt, rtt_at)
  add(of_hop, f.flows, flows, flows_at)
  tree:add(f.u, u_at, u / 4096)
  add(tree, f.tau, tau, tau_at)
  add(tree, f.delay, uf16(delay), delay_at)
  return true
end

local function show_fixed_size(tree, range)
  local take = reader(range)
  if take(4) ~= VERSION then
    return false
  end
  local u, u_at = take(8)
  local flows, flows_at = take(8)
  local bw, bw_at = take(16)
  local wait, wait_at = take(12)
  local path, path_at = take(32)
  local rtt, rtt_at = take(24)
  local cwnd, cwnd_at = take(16)
  tree:add(f.form, range, "fixed size")
  tree:add(f.u, u_at, u == 0 and 0 or 1.05 ^ (u - 1) / 4096)
  add(tree, f.flows, flow_count(flows), flows_at)
  add(tree, f.rate, uf16(bw), bw_at)
  add(tree, f.delay, wait * 64, wait_at)
  add(tree, f.path, path, path_at)
  add(tree, f.base_rtt, rtt, rtt_at)
  add(tree, f.cwnd, uf16(cwnd), cwnd_at)
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
