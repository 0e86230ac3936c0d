import { AIAgent, Persistence, strategy } from "agent-persistence";
import { DynamoDBPersistenceStorageProvider } from "agent-persistence/dynamodb";
import { type ListOptions, processOwner } from "agent-persistence/storage";
import { expect, it } from "vitest";
import { appendText, collect, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";
import { WatchedDynamoDB } from "./support/WatchedDynamoDB.ts";
import { soak } from "../../soak/cases.ts";

/** A process on a table, and which requests something takes. */
function processOn(database: FakeDynamoDB) {
  const client = new WatchedDynamoDB(database);
  const storage = new DynamoDBPersistenceStorageProvider({ client, tableName: "agents", leaseMs: 3_600_000 });
  const requestsOf = async (action: () => Promise<unknown>) => {
    const before = client.requests.length;
    await action();
    return client.requests.slice(before).map(([method]) => method);
  };
  return { storage, log: storage.log, client, requestsOf };
}

/** Saves a message of about 2 KB in each step. */
async function save(steps: number, { storage }: Pick<ReturnType<typeof processOn>, "storage">): Promise<void> {
  const looping = strategy<number, number>("looping", (graph) => {
    const say = graph.node("say", (step: number, context) => {
      context.llm.append({ role: "assistant", content: `${step} `.padEnd(2_048, "x") });
      return step;
    });
    graph.edge(graph.start, say);
    graph.edge(say, say, { when: (step) => step < steps, map: (step) => step + 1 });
    graph.edge(say, graph.finish, { when: (step) => step >= steps });
  });
  const promptExecutor = { execute: () => Promise.reject(new Error("no model is asked")) };
  const agent = new AIAgent({ promptExecutor, llmModel: "m", strategy: looping, maxIterations: steps + 1 });
  await agent.install(Persistence, { storage }).run(1, { agentId: "a" });
}

it("a save takes one request, and a save of 1 MB two", async () => {
  const { log, requestsOf } = processOn(new FakeDynamoDB());
  const owned = await log.open("a", processOwner());
  expect(await requestsOf(() => appendText(owned, "x"))).toEqual(["putItem"]);
  expect(await requestsOf(() => appendText(owned, "x".repeat(1_000_000)))).toEqual(["batchWriteItem", "putItem"]);
  await log.close();
});

it("each step of an agent takes one request", async () => {
  const [few, more] = [processOn(new FakeDynamoDB()), processOn(new FakeDynamoDB())];
  const requests = await few.requestsOf(() => save(10, few));
  expect(await more.requestsOf(() => save(60, more))).toHaveLength(requests.length + 50);
});

it("a status change takes five requests, plus one read for the first change of an owner", async () => {
  const { log, requestsOf } = processOn(new FakeDynamoDB());
  const owned = await log.open("a", processOwner());
  const { dueAt: _dueAt, ...summary } = exampleSummary("a", "");
  const change = (status: string) => requestsOf(() => appendText(owned, "x", { summary: { ...summary, status } }));
  expect(await change("running")).toEqual(["getItem", ...Array<string>(5).fill("putItem")]);
  expect(await change("completed")).toEqual([...Array<string>(3).fill("putItem"), "deleteItem", "putItem"]);
  // What else lists show changes, but not in which list the agent is.
  expect(await change("completed")).toEqual(Array(4).fill("putItem"));
  await log.close();
});

it("a due time takes one request more, and one when it ends", async () => {
  const { log, requestsOf } = processOn(new FakeDynamoDB());
  const owned = await log.open("a", processOwner());
  const { dueAt: _dueAt, ...summary } = exampleSummary("a", "running");
  const run = () => requestsOf(() => appendText(owned, "x", { summary }));
  const wait = () => requestsOf(() => appendText(owned, "x", { summary: exampleSummary("a", "waiting") }));
  await run();
  // The first write of a status in a process checks the list of due times, and the first in a table completes it.
  expect((await wait()).filter((method) => method === "getItem" || method === "query")).toEqual(["getItem", "query"]);
  expect(await run()).toEqual([...Array<string>(3).fill("putItem"), "deleteItem", "deleteItem", "putItem"]);
  expect(await wait()).toEqual([...Array<string>(4).fill("putItem"), "deleteItem", "putItem"]);
  await log.close();
});

it("opening takes five requests for a new agent and seven for an existing one", async () => {
  const database = new FakeDynamoDB();
  const { log, requestsOf } = processOn(database);
  const open = () => log.open("a", processOwner());
  const claim = ["getItem", "updateItem", "query", "putItem", "query"];
  expect(await requestsOf(open)).toEqual(claim);
  await log.close();
  const next = processOn(database);
  const owned = await next.log.open("a", processOwner());
  await appendText(owned, "x");
  expect(await next.requestsOf(() => owned.release())).toEqual(["updateItem"]);
  const last = processOn(database);
  expect(await last.requestsOf(() => last.log.open("a", processOwner()))).toEqual([...claim, "query", "query"]);
  await Promise.all([next.log.close(), last.log.close()]);
});

const loads = soak
  ? ([
      [300, 3],
      [3_000, 9],
    ] as const)
  : ([[300, 3]] as const);
it.each(loads)("the latest checkpoint of %i steps of 2 KB is loaded with %i requests", async (steps, requests) => {
  const database = new FakeDynamoDB();
  await save(steps, processOn(database));
  const { storage, requestsOf } = processOn(database);
  expect(await requestsOf(() => storage.getLatestCheckpoint("a"))).toEqual(Array(requests).fill("query"));
});

it("reading a log of 6 MB takes one request per MB plus two", async () => {
  const { log, requestsOf } = processOn(new FakeDynamoDB());
  const owned = await log.open("a", processOwner());
  for (let at = 0; at < 62; at++) await appendText(owned, "x".repeat(100_000));
  expect(await requestsOf(() => collect(log.read("a")))).toEqual(Array(9).fill("query"));
  await log.close();
});

it("a page of a list takes one request per status, plus one per 50 agents", async () => {
  const { log, requestsOf } = processOn(new FakeDynamoDB());
  for (let at = 0; at < 60; at++) {
    const owned = await log.open(`a${at}`, processOwner());
    await appendText(owned, "x", { summary: exampleSummary(`a${at}`, at % 2 ? "running" : "failed") });
  }
  const list = (options: ListOptions) => requestsOf(() => collect(log.list(options)));
  expect(await list({ limit: 50 })).toEqual(["query", "batchGetItem"]);
  expect(await list({ limit: 20, status: ["running", "failed"] })).toEqual(["query", "query", "batchGetItem"]);
  await log.close();
});

it("a list with a limit reads as many entries for 60 agents as for 20", async () => {
  const read = async (agents: number): Promise<readonly number[]> => {
    const { log, client } = processOn(new FakeDynamoDB());
    for (let n = 0; n < agents; n++) {
      const { dueAt: _dueAt, ...summary } = exampleSummary(`a${n}`, "queued");
      const owned = await log.open(`a${n}`, processOwner());
      await appendText(owned, "x", { summary: { ...summary, order: `${1_000 + n}` } });
      await owned.release();
    }
    const counts: number[] = [];
    for (const options of [{ status: "queued", limit: 3 }, { limit: 3 }] satisfies ListOptions[]) {
      const before = client.found;
      expect(await collect(log.list(options))).toHaveLength(3);
      counts.push(client.found - before);
    }
    await log.close();
    return counts;
  };
  const counts = await read(60);
  expect(counts).toEqual(await read(20));
  expect(Math.max(...counts)).toBeLessThan(20);
});
