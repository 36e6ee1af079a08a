-- Wireshark dissector for the header of a protected link (docs/reference/link-header.md, version 1).
--
--   tshark -X lua_script:wiremend-link.lua -r FILE -Y 'wiremend.kind == 3'
--
-- or put it into the folder of personal Lua plugins. The frame after the header is dissected as usual, so filters such as
-- `infiniband.bth.psn == 7` find it. For a link with another EtherType, pass `-o wiremend.ethertype:0x88b7`.
--
-- Frames that a receiver discards are marked `wiremend.malformed`, with the reason.

local link = Proto("wiremend", "wiremend protected link")
link.prefs.ethertype = Pref.string("EtherType", "0x88b5", "EtherType of the link header; the same at both ends")

local KINDS = { [0] = "Data", [1] = "Dummy", [2] = "Ack", [3] = "Missing", [4] = "Hello", [5] = "Unprotected" }
local HELLOS = { [1] = "open", [2] = "accept", [3] = "close", [4] = "closed", [5] = "unknown epoch", [6] = "leave",
    [7] = "challenge" }
local DATA, DUMMY, ACK, MISSING, HELLO, UNPROTECTED = 0, 1, 2, 3, 4, 5
local HELLO_CLOSE = 3

local VERSION = 1
local MAGIC = 0x776d6e64
local HOLES_MAX = 6
local SEAL_MARK, SEAL_AT, SEAL_BYTES = 0x7365616c, 46, 36
local NUMBERS = 2 ^ 20
local NEAREST_BRIDGE = "01:80:c2:00:00:0e"
-- IEEE 802.3: smaller values are the length of an LLC frame.
local ETHERTYPE_MIN = 0x0600

local HEX, DEC = base.HEX, base.DEC
local field = {
    version = ProtoField.uint32("wiremend.version", "Version", DEC, nil, 0xc0000000),
    kind = ProtoField.uint32("wiremend.kind", "Type", DEC, KINDS, 0x38000000),
    has_ack = ProtoField.bool("wiremend.has_ack", "ACK word follows", 32, nil, 0x04000000),
    retransmitted = ProtoField.bool("wiremend.retransmitted", "Retransmission", 32, nil, 0x02000000),
    ordered = ProtoField.bool("wiremend.ordered", "Delivered in order", 32, nil, 0x01000000),
    epoch = ProtoField.uint32("wiremend.epoch", "Epoch (lowest bits)", DEC, nil, 0x00f00000),
    seq = ProtoField.uint32("wiremend.seq", "Number", DEC, nil, 0x000fffff),
    next = ProtoField.uint32("wiremend.next", "Number of the next new frame", DEC, nil, 0x000fffff),
    upto = ProtoField.uint32("wiremend.upto", "End of the reported range (exclusive)", DEC, nil, 0x000fffff),
    -- The reserved bits of the word depend on the type.
    reserved = ProtoField.uint32("wiremend.reserved", "Reserved", HEX, nil, 0x03ffffff),
    reserved_head = ProtoField.uint32("wiremend.reserved", "Reserved", HEX, nil, 0x03f00000),
    reserved_flags = ProtoField.uint32("wiremend.reserved", "Reserved", HEX, nil, 0x03000000),

    ack = ProtoField.none("wiremend.ack", "Acknowledgement"),
    ack_epoch = ProtoField.uint32("wiremend.ack.epoch", "Epoch (lowest bits)", DEC, nil, 0xf0000000),
    ack_pause = ProtoField.bool("wiremend.ack.pause", "Pause: send no new frames", 32, nil, 0x08000000),
    ack_reserved = ProtoField.uint32("wiremend.ack.reserved", "Reserved", HEX, nil, 0x07f00000),
    ack_next = ProtoField.uint32("wiremend.ack.next", "All frames before this number settled", DEC, nil, 0x000fffff),

    hole_count = ProtoField.uint8("wiremend.hole.count", "Holes", DEC),
    hole_pad = ProtoField.uint8("wiremend.hole.reserved", "Reserved", HEX),
    hole = ProtoField.none("wiremend.hole", "Hole"),
    hole_reserved = ProtoField.uint32("wiremend.hole.reserved", "Reserved", HEX, nil, 0xfff00000),
    hole_first = ProtoField.uint32("wiremend.hole.first", "First missing", DEC, nil, 0x000fffff),
    hole_len = ProtoField.uint16("wiremend.hole.len", "Number of missing frames", DEC),

    hello_magic = ProtoField.uint32("wiremend.hello.magic", "Magic", HEX),
    hello_kind = ProtoField.uint8("wiremend.hello.kind", "Kind", DEC, HELLOS),
    hello_reserved = ProtoField.uint24("wiremend.hello.reserved", "Reserved", HEX),
    hello_epoch = ProtoField.uint32("wiremend.hello.epoch", "Epoch", DEC),
    hello_stamp = ProtoField.uint32("wiremend.hello.stamp", "Stamp (ns)", DEC),
    hello_next = ProtoField.uint32("wiremend.hello.next", "Number of the next frame that would have been sent", DEC),
    hello_rtt = ProtoField.uint32("wiremend.hello.rtt", "Round trip (ns), 0 if unknown", DEC),

    seal = ProtoField.none("wiremend.seal", "Seal"),
    seal_counter = ProtoField.uint64("wiremend.seal.counter", "Counter", DEC),
    seal_echo = ProtoField.uint64("wiremend.seal.echo", "Latest counter of the other end", DEC),
    seal_tag = ProtoField.bytes("wiremend.seal.tag", "Tag"),

    carried = ProtoField.uint16("wiremend.carried", "EtherType, tag or length carried", HEX),
}
for _, one in pairs(field) do
    link.fields[#link.fields + 1] = one
end

local malformed = ProtoExpert.new("wiremend.malformed", "Not a header of version 1; a receiver discards it",
    expert.group.MALFORMED, expert.severity.ERROR)
local reserved_set = ProtoExpert.new("wiremend.reserved_set", "Reserved bits that are not zero; a receiver ignores them",
    expert.group.PROTOCOL, expert.severity.NOTE)
local cut = ProtoExpert.new("wiremend.cut", "The capture is truncated within the header", expert.group.UNDECODED, expert.severity.NOTE)
link.experts = { malformed, reserved_set, cut }

local destination_of = Field.new("eth.dst")

-- Reads the bytes after the EtherType in order. A short read raises an error, which `dissect` reports.
local Reader = {}
Reader.__index = Reader

function Reader.new(tvb)
    return setmetatable({ tvb = tvb, at = 0 }, Reader)
end

function Reader:take(len, what)
    local stop = self.at + len
    if stop > self.tvb:reported_len() then
        error({ malformed = "the frame ends within the " .. what })
    elseif stop > self.tvb:len() then
        error({ cut = "the capture ends within the " .. what })
    end
    local range = self.tvb(self.at, len)
    self.at = stop
    return range
end

local function refuse(why)
    error({ malformed = why })
end

local function add_reserved(tree, what, range, value)
    local item = tree:add(what, range)
    if value ~= 0 then
        item:add_proto_expert_info(reserved_set)
    end
end

-- Distance from `start` to `number`; numbers wrap.
local function behind(number, start)
    return (number - start) % NUMBERS
end

local function add_ack(tree, reader)
    local range = reader:take(4, "ACK word")
    local pause, next = range:bitfield(4, 1) == 1, range:bitfield(12, 20)
    local ack = tree:add(field.ack, range)
    ack:add(field.ack_epoch, range)
    ack:add(field.ack_pause, range)
    add_reserved(ack, field.ack_reserved, range, range:bitfield(5, 7))
    ack:add(field.ack_next, range)
    ack:append_text((": next %d, epoch %d%s"):format(next, range:bitfield(0, 4), pause and ", pause" or ""))
    return { next = next, words = (", ACK next %d%s"):format(next, pause and ", pause" or "") }
end

-- Holes are in ascending order between `settled` and `upto`.
local function add_holes(tree, reader, settled, upto)
    local range = reader:take(2, "count of holes")
    local count = range(0, 1):uint()
    tree:add(field.hole_count, range(0, 1))
    add_reserved(tree, field.hole_pad, range(1, 1), range(1, 1):uint())
    if count > HOLES_MAX then
        refuse(("%d holes are more than %d"):format(count, HOLES_MAX))
    end
    local free, words = 0, ""
    for _ = 1, count do
        range = reader:take(6, "hole")
        local first, len = range:bitfield(12, 20), range(4, 2):uint()
        local hole = tree:add(field.hole, range)
        add_reserved(hole, field.hole_reserved, range(0, 4), range:bitfield(0, 12))
        hole:add(field.hole_first, range(0, 4))
        hole:add(field.hole_len, range(4, 2))
        hole:append_text((": %d from %d"):format(len, first))
        words = ("%s, %d from %d"):format(words, len, first)
        local start = behind(first, settled)
        if len == 0 or start < free or start + len > behind(upto, settled) then
            refuse("holes are out of order or exceed the reported range")
        end
        free = start + len
    end
    return words
end

local function add_hello(tree, reader)
    local range = reader:take(20, "hello")
    local kind = range(4, 1):uint()
    tree:add(field.hello_magic, range(0, 4))
    tree:add(field.hello_kind, range(4, 1))
    add_reserved(tree, field.hello_reserved, range(5, 3), range(5, 3):uint())
    tree:add(field.hello_epoch, range(8, 4))
    tree:add(kind == HELLO_CLOSE and field.hello_next or field.hello_stamp, range(12, 4))
    tree:add(field.hello_rtt, range(16, 4))
    if range(0, 4):uint() ~= MAGIC then
        refuse("wrong magic: another protocol uses this EtherType")
    elseif not HELLOS[kind] then
        refuse(("unknown hello kind %d, known are 1 to 7"):format(kind))
    end
    return (" %s, epoch %d"):format(HELLOS[kind], range(8, 4):uint())
end

-- The fields of the word that depend on its type.
local function add_number(tree, range, kind)
    if kind == DATA then
        tree:add(field.retransmitted, range)
        tree:add(field.ordered, range)
        tree:add(field.epoch, range)
        tree:add(field.seq, range)
    elseif kind == DUMMY or kind == UNPROTECTED then
        add_reserved(tree, field.reserved_flags, range, range:bitfield(6, 2))
        tree:add(field.epoch, range)
        tree:add(field.next, range)
    elseif kind == MISSING then
        add_reserved(tree, field.reserved_head, range, range:bitfield(6, 6))
        tree:add(field.upto, range)
    else
        add_reserved(tree, field.reserved, range, range:bitfield(6, 26))
    end
end

-- Adds a header to `tree` and returns its type. `summary.text` describes the fields read so far, also if the header is malformed.
local function add_header(tree, reader, summary)
    local range = reader:take(4, "link header")
    local version, kind, number = range:bitfield(0, 2), range:bitfield(2, 3), range:bitfield(12, 20)
    tree:add(field.version, range)
    if version ~= VERSION then
        refuse(("version %d is not %d"):format(version, VERSION))
    end
    tree:add(field.kind, range)
    tree:add(field.has_ack, range)
    add_number(tree, range, kind)
    summary.text = KINDS[kind] or ("type " .. kind)
    local ack = nil
    if range:bitfield(5, 1) == 1 and kind == HELLO then
        tree:add(reader:take(4, "ACK word"), "ACK word, skipped in a hello")
    elseif range:bitfield(5, 1) == 1 then
        ack = add_ack(tree, reader)
    end
    if not KINDS[kind] then
        refuse(("unknown type %d, known are 0 to 5"):format(kind))
    elseif (kind == ACK or kind == MISSING) and not ack then
        refuse("the ACK word that this type requires is missing")
    end
    if kind == DATA then
        local suffix = range:bitfield(6, 1) == 1 and ", retransmission" or ""
        summary.text = ("Data %d, epoch %d%s"):format(number, range:bitfield(8, 4), suffix)
    elseif kind == DUMMY then
        summary.text = ("Dummy, next %d, epoch %d"):format(number, range:bitfield(8, 4))
    elseif kind == UNPROTECTED then
        summary.text = ("Unprotected, next %d, epoch %d"):format(number, range:bitfield(8, 4))
    elseif kind == MISSING then
        summary.text = ("Missing up to %d%s"):format(number, add_holes(tree, reader, ack.next, number))
    elseif kind == HELLO then
        summary.text = "Hello" .. add_hello(tree, reader)
    end
    summary.text = summary.text .. (ack and ack.words or "")
    return kind
end

-- A control frame with another destination may have been forwarded by a bridge.
local function check_destination()
    local destination = destination_of()
    if destination and tostring(destination) ~= NEAREST_BRIDGE then
        refuse("the destination of a control frame must be " .. NEAREST_BRIDGE)
    end
end

-- A control frame of a link with a key has a seal after its 46 bytes.
local function add_seal(tree, tvb)
    if tvb:len() < SEAL_AT + SEAL_BYTES or tvb(SEAL_AT, 4):uint() ~= SEAL_MARK then
        return
    end
    local seal = tree:add(field.seal, tvb(SEAL_AT, SEAL_BYTES))
    seal:add(field.seal_counter, tvb(SEAL_AT + 4, 8))
    seal:add(field.seal_echo, tvb(SEAL_AT + 12, 8))
    seal:add(field.seal_tag, tvb(SEAL_AT + 20, 16))
end

-- Dissects the frame after a Data or Unprotected header as if the header were not there.
local function dissect_carried(tvb, pinfo, root, ethertype)
    if ethertype >= ETHERTYPE_MIN then
        local known = DissectorTable.get("ethertype"):get_dissector(ethertype)
        return (known or Dissector.get("data")):call(tvb, pinfo, root)
    end
    -- A length: LLC follows, then padding.
    local len = math.min(ethertype, tvb:len())
    Dissector.get("llc"):call(tvb(0, len):tvb(), pinfo, root)
end

function link.dissector(tvb, pinfo, root)
    local reader, summary = Reader.new(tvb), { text = "header" }
    local tree = root:add(link, tvb())
    pinfo.cols.protocol = "wiremend"
    local fine, result = pcall(function()
        local kind = add_header(tree, reader, summary)
        if kind ~= DATA and kind ~= UNPROTECTED then
            check_destination()
            add_seal(tree, tvb)
            return nil
        end
        local range = reader:take(2, "EtherType of the carried frame")
        tree:add(field.carried, range)
        return range:uint()
    end)
    tree:append_text(": " .. summary.text)
    tree:set_len(reader.at)
    if not fine then
        if type(result) ~= "table" then
            error(result)
        end
        local why = result.malformed or result.cut
        tree:add_proto_expert_info(result.malformed and malformed or cut, why)
        pinfo.cols.info = ("link %s [%s]"):format(summary.text, why)
    elseif result then
        if reader.at < tvb:len() then
            dissect_carried(tvb(reader.at):tvb(), pinfo, root, result)
        end
        pinfo.cols.info:prepend(("[link %s] "):format(summary.text))
    else
        pinfo.cols.info = "link " .. summary.text
    end
    return tvb:len()
end

local ethertypes = DissectorTable.get("ethertype")
local registered = nil

local function register()
    local ethertype = tonumber(link.prefs.ethertype)
    if ethertype == registered then
        return
    end
    if registered then
        ethertypes:remove(registered, link)
    end
    registered = ethertype
    if ethertype then
        ethertypes:add(ethertype, link)
    end
end

link.prefs_changed = register
register()
