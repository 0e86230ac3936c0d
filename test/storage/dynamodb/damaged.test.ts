import type { DynamoDBItem } from "agent-persistence/dynamodb";
import { describe, expect, it } from "vitest";
import { appendText, collect, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";
import { processOn } from "./processOn.ts";

type Stored = Map<string, DynamoDBItem>;

/** Two agents, of which "a" has a summary that needs items of its own. */
async function twoAgents() {
  const database = new FakeDynamoDB();
  const { log } = processOn(database);
  for (const agentId of ["a", "b"]) {
    const owned = await log.open(agentId, { host: "h", processId: 1, nonce: agentId });
    const data = agentId === "a" ? "x".repeat(400_000) : "x";
    await appendText(owned, "1", { summary: exampleSummary(agentId, "queued", { order: agentId, data }) });
    await owned.release();
  }
  const items = database.partitions.get("agent a") ?? new Map<string, DynamoDBItem>();
  return { database, log, items };
}

function change(items: Stored, key: string, changed: (item: DynamoDBItem) => DynamoDBItem): void {
  items.set(key, changed(items.get(key) ?? {}));
}

function inCurrent(item: DynamoDBItem, more: DynamoDBItem): DynamoDBItem {
  const { M } = item["current"] as { readonly M: DynamoDBItem };
  return { ...item, current: { M: { ...M, ...more } } };
}

const [head, summary] = ["01", "02"];
const isPart = (key: string) => key.startsWith("20");

describe("a damaged item of an agent", () => {
  it.each<readonly [string, (items: Stored) => void]>([
    ["lacks a part of its summary", (items) => void items.delete([...items.keys()].find(isPart) ?? "")],
    [
      "has a text in a part",
      (items) => change(items, [...items.keys()].find(isPart) ?? "", (item) => ({ ...item, bytes: { S: "x" } })),
    ],
    [
      "has a text in its summary",
      (items) => change(items, summary, (item) => inCurrent(item, { bytes: { S: "x" }, parts: { NULL: true } })),
    ],
    [
      "has a summary without a slot",
      (items) => change(items, summary, (item) => inCurrent(item, { slot: { S: "x" } })),
    ],
    ["has an empty mark", (items) => change(items, summary, (item) => ({ ...item, next: { M: {} } }))],
    ["has a newer format", (items) => change(items, head, (item) => ({ ...item, format: { N: "2" } }))],
  ])("that %s makes only this agent unreadable in lists", async (_how, damage) => {
    const { database, log, items } = await twoAgents();
    const before = structuredClone(items);
    damage(items);
    const listed = (await collect(log.list())).map(({ agentId, status }) => [agentId, status]);
    expect(listed).toEqual([
      ["a", "unreadable"],
      ["b", "queued"],
    ]);
    expect((await collect(log.list({ status: "queued", free: true }))).map(({ agentId }) => agentId)).toEqual(["b"]);
    database.partitions.set("agent a", before);
    expect((await collect(log.list({ status: "queued" }))).map(({ agentId }) => agentId)).toEqual(["a", "b"]);
  });

  it("that holds its lease does not stop lists", async () => {
    const { log, items } = await twoAgents();
    await log.open("a", { host: "h", processId: 1, nonce: "again" });
    change(items, head, (item) => ({ ...item, beat: { N: "1" } }));
    expect((await collect(log.list({ free: true }))).map(({ agentId }) => agentId)).toEqual(["b"]);
  });

  it("can be deleted with its agent", async () => {
    const { database, log, items } = await twoAgents();
    items.delete([...items.keys()].find(isPart) ?? "");
    await (await log.open("a", { host: "h", processId: 1, nonce: "again" })).drop();
    expect((await collect(log.list())).map(({ agentId }) => agentId)).toEqual(["b"]);
    expect([...(database.partitions.get("list") ?? new Map<string, DynamoDBItem>()).values()]).toHaveLength(1);
  });
});
