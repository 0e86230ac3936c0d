/**
 * What Redis does in one step: each method of `RedisTable` is one script. All keys of an agent are named after it, and no key
 * of an agent can be that of another one, because the kind comes first.
 */
const shared = `
local prefix, id, generation = KEYS[1], ARGV[1], ARGV[2]
local function key(kind) return prefix .. kind .. ':' .. id end
local agent = key('agent')
local kinds = { 'rows', 'snapshots', 'prunings' }
local function field(name) return redis.call('HGET', agent, name) end
local function isOwner() return field('owner') and field('generation') == generation end
local function removeSummary()
  if not field('place') then return end
  redis.call('ZREM', prefix .. 'agents', field('place'))
  redis.call('ZREM', prefix .. 'agents:' .. field('status'), field('place'))
  redis.call('HDEL', agent, 'place', 'status', 'order', 'text')
end
-- An append is: position, encoded, isSnapshot, isPruning.
local function store(at, stage)
  local position = ARGV[at]
  redis.call('ZADD', key(stage .. 'rows'), position, position .. ' ' .. ARGV[at + 1])
  if ARGV[at + 2] == '1' then redis.call('ZADD', key(stage .. 'snapshots'), position, position) end
  if ARGV[at + 3] == '1' then redis.call('ZADD', key(stage .. 'prunings'), position, position) end
end
-- A summary is: status, order, place, text. An append without one ends before it.
local function append(at)
  store(at, '')
  redis.call('HSET', agent, 'last', ARGV[at])
  if not ARGV[at + 4] then return end
  removeSummary()
  local status, order, place, text = ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], ARGV[at + 7]
  redis.call('HSET', agent, 'status', status, 'order', order, 'place', place, 'text', text)
  redis.call('ZADD', prefix .. 'agents', 0, place)
  redis.call('ZADD', prefix .. 'agents:' .. status, 0, place)
end
local function prunings() return redis.call('ZRANGE', key('prunings'), 0, -1) end
`;

const bodies = {
  head: `return redis.call('HMGET', agent, 'generation', 'beat', 'owner', 'stop')`,
  claim: `
local owner, beat, seenGeneration, seenBeat = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if seenGeneration then
  if not field('owner') or field('generation') ~= seenGeneration or field('beat') ~= seenBeat then return false end
elseif field('owner') then return false end
redis.call('HSET', agent, 'owner', owner, 'beat', beat)
redis.call('HDEL', agent, 'stop')
return redis.call('HINCRBY', agent, 'generation', 1)`,
  renew: `
if not isOwner() then return false end
redis.call('HSET', agent, 'beat', ARGV[3])
return redis.call('HMGET', agent, 'stop')`,
  release: `if isOwner() then redis.call('HDEL', agent, 'owner', 'beat', 'stop') end`,
  requestStop: `if isOwner() then redis.call('HSET', agent, 'stop', ARGV[3]) end`,
  append: `
if not isOwner() or tonumber(field('last') or 0) + 1 ~= tonumber(ARGV[3]) then return 0 end
append(3)
return 1`,
  rows: `
local after, upTo, sinceSnapshot, isLast, most = ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local from = '(' .. after
if sinceSnapshot == '1' then
  from = redis.call('ZREVRANGEBYSCORE', key('snapshots'), upTo, from, 'LIMIT', 0, 1)[1] or from
end
local rows
if isLast == '1' then rows = redis.call('ZREVRANGEBYSCORE', key('rows'), upTo, from, 'LIMIT', 0, 1)
else rows = redis.call('ZRANGEBYSCORE', key('rows'), from, upTo, 'LIMIT', 0, most + 1) end
return { field('start') or '0', field('last') or '0', prunings(), rows }`,
  pruned: `return { field('start') or '0', prunings() }`,
  remove: `
if not isOwner() then return 0 end
for at = 3, #ARGV, 2 do
  for _, kind in ipairs(kinds) do redis.call('ZREMRANGEBYSCORE', key(kind), ARGV[at], ARGV[at + 1]) end
end
return 1`,
  drop: `
if not isOwner() then return 0 end
removeSummary()
for _, kind in ipairs(kinds) do redis.call('DEL', key(kind), key('staged-' .. kind)) end
redis.call('DEL', key('blobs'))
redis.call('HSET', agent, 'start', field('last') or 0)
redis.call('HDEL', agent, 'owner', 'beat', 'stop')
return 1`,
  stage: `
if not isOwner() then return 0 end
if ARGV[3] == '1' then for _, kind in ipairs(kinds) do redis.call('DEL', key('staged-' .. kind)) end end
for at = 4, #ARGV, 4 do store(at, 'staged-') end
return 1`,
  publish: `
if not isOwner() then return 0 end
for _, kind in ipairs(kinds) do
  if redis.call('EXISTS', key('staged-' .. kind)) == 1 then redis.call('RENAME', key('staged-' .. kind), key(kind)) end
end
redis.call('HSET', agent, 'generation', ARGV[3], 'start', ARGV[4])
append(5)
return 1`,
  list: `
local index, from, most = prefix .. 'agents' .. ARGV[2], ARGV[3], tonumber(ARGV[4])
local places = redis.call('ZRANGEBYLEX', index, from, '+', 'LIMIT', 0, most + 1)
local rows = {}
for _, place in ipairs(places) do
  local agentId = string.gsub(string.match(place, '!(%x*)$'), '%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
  local row = redis.call('HMGET', prefix .. 'agent:' .. agentId, 'order', 'text', 'generation', 'beat', 'owner', 'stop')
  table.insert(rows, row)
end
return { places, unpack(rows) }`,
  copyBlob: `
local bytes = redis.call('HGET', key('blobs'), ARGV[3])
if not bytes then return 0 end
redis.call('HSET', prefix .. 'blobs:' .. ARGV[2], ARGV[3], bytes)
return 1`,
};

/** The scripts by name. Each gets the prefix of all keys, then the id of the agent and the values that it names. */
export const scripts = Object.fromEntries(
  Object.entries(bodies).map(([name, body]) => [name, shared + body]),
) as Readonly<Record<keyof typeof bodies, string>>;
