import { type ListOptions, processOwner } from "agent-persistence/storage";
import { describe, expect, it } from "vitest";
import { appendText, collect, exampleRecord, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { prunedRecord } from "../../../src/testing/conformance/log/removalTests.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";
import { localDynamoDB, newTable } from "./localDynamoDB.ts";
import { opened, processOn, type TableProcess } from "./processOn.ts";
import { soak } from "../../soak/cases.ts";

/** Lists an agent for each pair, in another order than a list has them. */
async function listed({ log }: TableProcess, agents: readonly (readonly [order: string, agentId: string])[]) {
  for (const [order, agentId] of agents.toReversed()) {
    const owned = await log.open(agentId, processOwner());
    await appendText(owned, "x", { summary: exampleSummary(agentId, "queued", { order }) });
    await owned.release();
  }
  return async (options: ListOptions) => (await collect(log.list(options))).map(({ agentId }) => agentId);
}

/** By the bytes of order and id. */
function sorted(agents: readonly (readonly [order: string, agentId: string])[]) {
  const compare = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
  return agents.toSorted(([order, id], [otherOrder, otherId]) => compare(order, otherOrder) || compare(id, otherId));
}

describe("text that exceeds the key size of DynamoDB", () => {
  it.each([3, Infinity])("keeps its position in a list, in pages of %d items", async (pageSize) => {
    const database = new FakeDynamoDB();
    database.pageSize = pageSize;
    const [same, longId] = ["x".repeat(2_000), "i".repeat(1_000)];
    const orders = [979, 980, 981, 1_022, 1_023, 1_024].map((length) => "x".repeat(length));
    const agents = sorted([
      ...orders.map((order, at) => [order, `${99 - at}`] as const),
      ...["\uffff", "😀", "b", "a", "", "\0"].map((end, at) => [`${same}${end}`, `${longId}${at}`] as const),
      ...["é", "ü"].map((text, at) => [text.repeat(700), `umlaut ${at}`] as const),
      ["first", `${longId}-1`],
      ["first", `${longId}-0`],
      ["zero", "z"],
    ]);
    const list = await listed(processOn(database), agents);
    const ids = agents.map(([, agentId]) => agentId);
    expect(await list({})).toEqual(ids);
    expect(await list({ status: ["queued", "failed"] })).toEqual(ids);
    for (const [at, [order]] of agents.entries()) {
      const behind = agents.filter(([other], index) => index > at && other !== order).map(([, agentId]) => agentId);
      expect(await list({ after: order })).toEqual(behind);
      expect(await list({ status: "queued", after: order, limit: 2 })).toEqual(behind.slice(0, 2));
    }
  });

  it("is refused, and the agent stays usable", async () => {
    const database = new FakeDynamoDB();
    for (const summary of [
      exampleSummary("a", "s".repeat(2_050)),
      exampleSummary("a", "queued", { order: "o".repeat(400 * 1024) }),
    ]) {
      const owned = await processOn(database).log.open("a", processOwner());
      const refused = { code: "storage_failed", reason: "io" };
      await expect(appendText(owned, "x", { summary })).rejects.toMatchObject(refused);
      expect(await collect(processOn(database).log.list())).toEqual([]);
    }
    const { log } = processOn(database);
    const owned = await log.open("a", processOwner());
    await appendText(owned, "x", { summary: exampleSummary("a", "queued") });
    expect((await collect(log.list())).map(({ status, position }) => [status, position])).toEqual([["queued", 1]]);
  });
});

it("keeps ids, orders, statuses, reasons and owners with any character distinct and sorts by bytes", async () => {
  const texts = ["\0", "a", "a\0", "a\0b", 'a"', "a#pk", "a:g", "a\\", "agent a", "list", "é", "\uFFFF", "😀"];
  const { log } = soak ? processOn(await localDynamoDB(), await newTable()) : processOn(new FakeDynamoDB());
  for (const text of texts.toReversed()) {
    const owned = await log.open(text, { host: text, processId: 1, nonce: `${text}\uD800` });
    await appendText(owned, text, { summary: exampleSummary(text, text, { order: text }) });
    await log.requestStop(text, text);
    expect(await log.owner(text)).toMatchObject({ nonce: `${text}\uD800` });
  }
  const list = async (options: ListOptions) => (await collect(log.list(options))).map(({ agentId }) => agentId);
  expect(await list({})).toEqual(texts);
  for (const [index, text] of texts.entries()) {
    expect(await list({ after: text })).toEqual(texts.slice(index + 1));
    expect(await list({ status: text })).toEqual([text]);
  }
  await expect(log.open("\uD800", processOwner())).rejects.toMatchObject({ code: "invalid_agent_id" });
  await log.close();
});

it("two tables are independent", async () => {
  const client = await localDynamoDB();
  const logs = [processOn(client, await newTable()).log, processOn(client, await newTable()).log] as const;
  const [owned, other] = await Promise.all(logs.map((log) => log.open("a", processOwner())));
  for (const owner of [owned, other]) {
    expect([owner?.generation, owner?.position]).toEqual([1, 0]);
    if (owner) await appendText(owner, "x", { summary: exampleSummary("a", "queued") });
  }
  await owned?.drop();
  expect([await collect(logs[0].read("a")), await collect(logs[0].list())]).toEqual([[], []]);
  expect(await collect(logs[1].read("a"))).toHaveLength(1);
  expect(await collect(logs[1].list({ status: "queued" }))).toHaveLength(1);
  await logs[1].close();
});

it("an append larger than an item is read whole, pruned whole and dropped with the agent", async () => {
  const database = new FakeDynamoDB();
  const process = processOn(database);
  const { log } = process;
  const owned = await opened(process);
  const texts = [380, 400, 760, 1_024, 2_000].map((size) => "é".repeat(size * 512));
  for (const text of texts) await appendText(owned, text);
  const data = "é".repeat(200_000);
  for (const status of ["queued", "waiting"])
    await appendText(owned, "x", { summary: exampleSummary("a", status, { data: `${status} ${data}` }) });
  const bytes = new TextEncoder().encode(texts[3]);
  const reference = await log.blobs.put("a", owned.generation, bytes);
  const entries = await collect(processOn(database).log.read("a"));
  expect(entries.map(({ records }) => JSON.stringify(records))).toEqual(
    [...texts, "x", "x"].map((text) => JSON.stringify([exampleRecord(text)])),
  );
  expect(Buffer.from((await log.blobs.get("a", reference)) ?? []).equals(bytes)).toBe(true);
  expect((await collect(log.list())).map((summary) => summary.data)).toEqual([`waiting ${data}`]);
  const before = database.size;
  await owned.append({ id: "pruning", records: [prunedRecord(entries, 2, 5)] }, 7);
  await owned.prune();
  const [items, parts, record] = [4, 2 + 3 + 3 + 6, 1];
  expect(before - database.size).toBe(items + parts - record);
  await owned.drop();
  // The item of the agent, its summary, the first append of its owner, and the claim that says that it was dropped.
  const marks = [...database.partitions.keys()].filter((name) => name.startsWith("due "));
  expect(database.size).toBe(4 + marks.length);
});

it("reads any range of a moved log, including ranges that end before they start", async () => {
  const process = processOn(new FakeDynamoDB());
  const owned = await opened(process);
  for (const text of ["1", "2", "3"]) await appendText(owned, text);
  const { log } = processOn(new FakeDynamoDB());
  const received = { appends: process.log.encodedAppends?.("a") ?? [], generation: owned.generation };
  const last = { id: "last", records: [exampleRecord("last")] };
  await log.receive?.("b", processOwner(), received, async () => last);
  for (const after of [0, 1, 2, 3, 4])
    for (const upTo of [0, 1, 2, 3, 4]) {
      const found = (await collect(log.read("b", { after, upTo }))).map(({ position }) => position);
      expect(found).toEqual([1, 2, 3, 4].filter((position) => position > after && position <= upTo));
    }
  await log.close();
});
