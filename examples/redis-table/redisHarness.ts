import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type ProcessIdentity, TableRecordLog } from "agent-persistence/storage";
import { type RecordLogHarness, SimulatedClock } from "agent-persistence/testing";
import type { Redis } from "ioredis";
import { RedisTable } from "./RedisTable.ts";
import { scripts } from "./scripts.ts";

const reading: readonly string[] = [scripts.head, scripts.rows, scripts.pruned, scripts.list];

/** Does to a log in Redis what happens in production. Each log of it has the clock of a process of its own. */
export function redisHarness(redis: Redis): RecordLogHarness {
  const prefix = `${randomUUID()}:`;
  let clocks: SimulatedClock[] = [];
  let losesAnswer = false;
  const answered = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    const arrived = await answer;
    if (!losesAnswer) return arrived;
    losesAnswer = false;
    throw new Error("Connection is closed.");
  };
  const losing = {
    eval: (script: string, ...values: [number, ...string[]]) => {
      const answer = redis.eval(script, ...values);
      return reading.includes(script) ? answer : answered(answer);
    },
    hset: (...values: [string, string, string]) => answered(redis.hset(...values)),
    hget: redis.hget.bind(redis),
    hdel: redis.hdel.bind(redis),
  } as Redis;
  const start = () => {
    const clock = new SimulatedClock();
    clocks.push(clock);
    return new TableRecordLog(new RedisTable(losing, prefix), { clock, processIdentity: someProcess });
  };
  return {
    log: start(),
    reopen: start,
    advance: async (ms) => {
      for (const clock of clocks) clock.advance(ms);
      for (let turn = 0; turn < 10; turn++) await setImmediate();
    },
    silence: () => void (clocks = []),
    alter: async (agentId, position) => {
      const key = `${prefix}rows:${agentId}`;
      const [row = ""] = await redis.zrangebyscore(key, position, position);
      await redis.zrem(key, row);
      await redis.zadd(key, position, `${position} ${changed(row.split(" ")[1] ?? "")}`);
    },
    alterBlob: async (agentId, reference) => {
      const key = `${prefix}blobs:${agentId}`;
      await redis.hset(key, reference, changed((await redis.hget(key, reference)) ?? ""));
    },
    loseAnswer: () => void (losesAnswer = true),
  };
}

/** Changes the byte in the middle. */
function changed(base64: string): string {
  const bytes = Buffer.from(base64, "base64");
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  return bytes.toString("base64");
}

/** A process of which nothing is known but that it runs. */
const someProcess: ProcessIdentity = {
  host: "test",
  bootId: "boot",
  pidNamespace: "",
  processId: 1,
  processStart: "",
  isRunning: () => true,
};
