import { DynamoDBPersistenceStorageProvider, type DynamoDBClient } from "agent-persistence/dynamodb";
import type { Entry, OwnedLog, RecordLog } from "agent-persistence/storage";
import { SimulatedClock } from "agent-persistence/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appendText, exampleSummary } from "../../../../src/testing/conformance/log/logTest.ts";
import { prunedRecord } from "../../../../src/testing/conformance/log/removalTests.ts";
import { anyProcess } from "../../../testing/conformance/anyProcess.ts";
import { collect } from "../../file/support/fixture.ts";
import { FakeDynamoDB } from "../support/FakeDynamoDB.ts";
import { type Choose, RequestSchedule } from "./RequestSchedule.ts";
import { cases } from "../../../soak/cases.ts";

const runs = cases(20, 500);
const agentId = "a";
const leaseMs = 15_000;

/** What processes were told, and what they asked for. */
interface Told {
  readonly appends: { readonly id: string; readonly position: number; readonly generation: number }[];
  readonly drops: number[];
  /** Also those of which nobody knows whether they were carried out. */
  readonly askedDrops: number[];
  readonly pruned: Set<number>;
}

interface Process {
  readonly name: string;
  readonly log: RecordLog;
  readonly clock: SimulatedClock;
}

describe("requests that are delayed, duplicated, reordered or unanswered", () => {
  it(`lose no acknowledged append and allow no append by a replaced owner, in ${runs} schedules`, async () => {
    const choices = fc.infiniteStream(fc.nat({ max: 999_999 }));
    const property = fc.asyncProperty(choices, (stream) => tried((limit) => (stream.next().value ?? 0) % limit));
    await fc.assert(property, { numRuns: runs });
  });
});

async function tried(choose: Choose): Promise<void> {
  const table = new FakeDynamoDB();
  table.pageSize = 4;
  const schedule = new RequestSchedule(table, choose);
  const told: Told = { appends: [], drops: [], askedDrops: [], pruned: new Set() };
  const processes = ["x", "y", "z"].map((name) => processOf(name, schedule.client(), schedule.clock()));
  await schedule.run(processes.map((process) => live(process, told, choose)));
  const judging = processOf("judge", table, new SimulatedClock());
  await judge(judging.log, told);
  const owned = await forced(judging, "last");
  expect(owned.generation).toBeGreaterThan(Math.max(0, ...told.appends.map(({ generation }) => generation)));
  await judge(judging.log, told);
  await appendText(owned, "last", { summary: exampleSummary(agentId, "last") });
  expect(await collect(judging.log.list())).toMatchObject([{ status: "last" }]);
  await judging.log.close();
}

function processOf(name: string, client: DynamoDBClient, clock: SimulatedClock): Process {
  const options = { client, tableName: "t", clock, leaseMs, retryMs: 2_000, processIdentity: anyProcess };
  return { name, log: new DynamoDBPersistenceStorageProvider(options).log, clock };
}

/** Owns the agent now and then, and is often replaced while it does not know. */
async function live(process: Process, told: Told, choose: Choose): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    try {
      const owned = await forced(process, `${process.name}${turn}`);
      await work(process, owned, `${process.name}${turn}`, told, choose);
      if (choose(2) === 0) await owned.release();
    } catch (error) {
      const code = (error as { readonly code?: string }).code;
      if (!["agent_busy", "ownership_lost", "storage_failed"].includes(String(code))) throw error;
    }
  }
}

async function work({ log }: Process, owned: OwnedLog, name: string, told: Told, choose: Choose): Promise<void> {
  const append = async (id: string, extra: Parameters<typeof appendText>[2]) => {
    const position = await appendText(owned, id, { id, ...extra });
    told.appends.push({ id, position, generation: owned.generation });
  };
  for (let number = choose(5); number > 0; number--) {
    const status = choose(3) === 0 ? `status ${choose(3)}` : undefined;
    const summary = status === undefined ? {} : { summary: exampleSummary(agentId, status) };
    await append(`${name} ${number} ${status ?? ""}`, { snapshot: choose(3) === 0, ...summary });
  }
  const entries = choose(4) === 0 ? await collect(log.read(agentId)) : [];
  const [first, last] = rangeIn(entries, choose);
  if (first && last) {
    for (let position = first; position <= last; position++) told.pruned.add(position);
    await append(`${name} pruned`, { records: [prunedRecord(entries, first, last)] });
    await owned.prune();
  }
  if (choose(6) === 0) {
    const { position } = owned;
    told.askedDrops.push(position);
    await owned.drop();
    told.drops.push(position);
  }
}

/** The first and the last position of neighbors that change no status, behind one that stays. */
function rangeIn(entries: readonly Entry[], choose: Choose): readonly number[] {
  const mayGo = (at: number): boolean => {
    const [before, entry] = [entries[at - 1], entries[at]];
    return before?.position === (entry?.position ?? 0) - 1 && !/status|pruned/.test(entry?.id ?? "status");
  };
  const first = choose(entries.length + 1);
  let last = first;
  while (mayGo(last) && last < entries.length - 1) last++;
  return last === first ? [] : [entries[first]?.position ?? 0, entries[last - 1]?.position ?? 0];
}

/** The agent, whoever has it: this process has seen it silent for a lease. */
async function forced({ log, clock }: Process, nonce: string): Promise<OwnedLog> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await log.open(agentId, { host: "h", processId: 1, nonce });
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "agent_busy" || attempt === 5) throw error;
      clock.advance(leaseMs);
    }
  }
}

/** What was told is true: the log has it once, in order, and a list shows what it said last. */
async function judge(log: RecordLog, { appends, drops, askedDrops, pruned }: Told): Promise<void> {
  const entries = await collect(log.read(agentId));
  const dropped = Math.max(0, ...drops);
  const first = entries[0]?.position;
  // A drop that was asked for may have been carried out without an answer.
  const start =
    first === undefined ? Math.max(0, ...askedDrops) : Math.max(...[0, ...askedDrops].filter((at) => at < first));
  expect(start).toBeGreaterThanOrEqual(dropped);
  const found = new Map(entries.map((entry) => [entry.position, entry]));
  for (const { position, id, generation } of appends)
    if (position > start && !pruned.has(position)) expect(found.get(position)).toMatchObject({ id, generation });
  const generations = entries.map(({ generation }) => generation);
  expect(generations).toEqual(generations.toSorted((one, other) => one - other));
  const since = await collect(log.read(agentId, { sinceSnapshot: true }));
  expect(entries.slice(entries.length - since.length)).toEqual(since);
  const said = entries
    .findLast(({ id }) => id.includes("status"))
    ?.id.split(" ")
    .slice(2)
    .join(" ");
  const listed = await collect(log.list());
  expect(listed.map(({ status }) => status)).toEqual(said === undefined ? [] : [said]);
  const statuses = ["status 0", "status 1", "status 2"].filter((status) => status === said);
  expect(await collect(log.list({ status: ["status 0", "status 1", "status 2"] }))).toHaveLength(statuses.length);
}
