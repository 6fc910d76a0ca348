"""The steps of a Redis sink as scripts that the server runs as one. KEYS[1] is the place, part of all other keys."""

from __future__ import annotations

PREPARE = """
-- ARGV: open id, target key, version, record
local place, open = KEYS[1], KEYS[1] .. ':@open:' .. ARGV[1]
if redis.call('HEXISTS', place .. ':@versions', ARGV[3]) == 1 then
  redis.call('UNLINK', open)
  return
end
if redis.call('EXISTS', open) == 1 then
  redis.call('RENAME', open, ARGV[2])
  redis.call('PERSIST', ARGV[2])
elseif redis.call('HEXISTS', place .. ':@prepared', ARGV[3]) == 0 then
  redis.call('UNLINK', ARGV[2])
end
redis.call('HSET', place .. ':@prepared', ARGV[3], ARGV[4])
"""
"""Staged rows get the name of their version. Asked again after a lost answer it finds nothing open and the version
noted.
"""

_SHRINK = """
local function shrink(place)
  local versions = place .. ':@versions'
  if redis.call('HLEN', versions) <= 4096 then return end
  local all, found = redis.call('HGETALL', versions), {}
  for i = 1, #all, 2 do found[#found + 1] = {all[i], tonumber(cjson.decode(all[i + 1]).time) or 0} end
  table.sort(found, function(a, b) return a[2] < b[2] end)
  for i = 1, #found - 2048 do redis.call('HDEL', versions, found[i][1]) end
end
"""

COMMIT_UPSERT = (
    _SHRINK
    + """
-- ARGV: version, record, call or '', seconds, cursor; returns the next cursor, '0' when done
local place, staging = KEYS[1], KEYS[1] .. ':@staging:' .. ARGV[1]
if redis.call('HEXISTS', place .. ':@versions', ARGV[1]) == 1 then return '0' end
local cursor, done = ARGV[5], 0
repeat
  local part = redis.call('HSCAN', staging, cursor, 'COUNT', 1000)
  cursor = part[1]
  for i = 1, #part[2], 1000 do
    redis.call('HSET', place, unpack(part[2], i, math.min(i + 999, #part[2])))
  end
  done = done + #part[2] / 2
until cursor == '0' or done >= 10000
if cursor ~= '0' then return cursor end
if ARGV[3] ~= '' and redis.call('EXISTS', staging) == 1 then
  redis.call('RENAME', staging, place .. ':@call:' .. ARGV[3])
  redis.call('EXPIRE', place .. ':@call:' .. ARGV[3], ARGV[4])
else
  redis.call('UNLINK', staging)
end
redis.call('HSET', place .. ':@versions', ARGV[1], ARGV[2])
redis.call('HDEL', place .. ':@prepared', ARGV[1])
shrink(place)
return '0'
"""
)
"""Up to 10,000 rows become visible at once; more in several steps, so that the server goes on answering others."""

COMMIT_REPLACE = (
    _SHRINK
    + """
-- ARGV: version, record, seconds
local place = KEYS[1]
if redis.call('HEXISTS', place .. ':@versions', ARGV[1]) == 1 then return end
local old = redis.call('GET', place .. ':@latest')
redis.call('PERSIST', place .. ':' .. ARGV[1])
redis.call('SET', place .. ':@latest', ARGV[1])
redis.call('HSET', place .. ':@versions', ARGV[1], ARGV[2])
redis.call('HDEL', place .. ':@prepared', ARGV[1])
if old and old ~= ARGV[1] then redis.call('EXPIRE', place .. ':' .. old, ARGV[3]) end
shrink(place)
"""
)

ABORT = """
-- ARGV: version, target key
if redis.call('HEXISTS', KEYS[1] .. ':@versions', ARGV[1]) == 0 then redis.call('UNLINK', ARGV[2]) end
redis.call('HDEL', KEYS[1] .. ':@prepared', ARGV[1])
"""
