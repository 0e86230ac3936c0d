import { describe, expect, it } from "vitest";
import { appendText, collect, exampleSummary } from "../../../src/testing/conformance/log/logTest.ts";
import { FakeDynamoDB } from "./support/FakeDynamoDB.ts";
import { opened, processOn, settled, stopped, takenOver } from "./processOn.ts";
import { isWrite } from "./support/WatchedDynamoDB.ts";

async function begun(database: FakeDynamoDB) {
  const process = processOn(database);
  const owned = await opened(process);
  await appendText(owned, "one", { summary: exampleSummary("a", "running") });
  await appendText(owned, "x".repeat(500_000));
  await process.log.blobs.put("a", owned.generation, new Uint8Array(500_000));
  return { ...process, owned };
}

function listsOf(database: FakeDynamoDB): string[] {
  return [...database.partitions].flatMap(([name, items]) =>
    [...items.values()].flatMap((item) => (/^(list|due)/.test(name) && "agent" in item ? name : [])),
  );
}

it("status changes leave no list entries of earlier statuses, even if the response to any write is lost", async () => {
  const summary = exampleSummary("a", "waiting", { order: "later", dueAt: "2026-01-02T03:04:05.000Z" });
  for (let at = 0, isLast = false; !isLast; at++) {
    const database = new FakeDynamoDB();
    const process = await begun(database);
    let writes = 0;
    process.client.onRequest = (method) => {
      if (isWrite(method) && writes++ === at) process.client.losesAnswer = true;
    };
    expect(await settled(process, appendText(process.owned, "two", { summary }))).toMatchObject({ value: 3 });
    isLast = writes <= at;
    process.client.onRequest = () => {};
    await appendText(process.owned, "three", { summary: { ...summary, status: "queued" } });
    expect([at, listsOf(database).toSorted()]).toEqual([at, ["due queued", "list", "list queued"]]);
  }
});

describe("a process that stops", () => {
  it("after any write of a drop leaves the agent complete or empty for the next owner", async () => {
    const ends = new Set<number>();
    for (let after = 0; ; after++) {
      const database = new FakeDynamoDB();
      const { client, owned } = await begun(database);
      if (await stopped(client, after, () => owned.drop())) break;
      const next = processOn(database);
      const before = (await collect(next.log.read("a"))).length;
      const owner = await takenOver(next);
      expect(await collect(next.log.read("a"))).toHaveLength(before);
      expect(await collect(next.log.list())).toHaveLength(before === 0 ? 0 : 1);
      await appendText(owner, "next", { summary: exampleSummary("a", "completed") });
      expect((await collect(next.log.list())).map(({ status }) => status)).toEqual(["completed"]);
      ends.add(before);
    }
    expect(ends).toEqual(new Set([0, 2]));
  });

  it("after any write of a status change leaves the status of the last append", async () => {
    const ends = new Set<string>();
    for (let after = 0, ended = false; !ended; after++) {
      const database = new FakeDynamoDB();
      const { client, owned } = await begun(database);
      ended = await stopped(client, after, () => appendText(owned, "two", { summary: exampleSummary("a", "waiting") }));
      const next = processOn(database);
      const status = (await collect(next.log.read("a"))).length === 3 ? "waiting" : "running";
      expect((await collect(next.log.list())).map((agent) => agent.status)).toEqual([status]);
      expect(await collect(next.log.list({ status }))).toHaveLength(1);
      expect(await collect(next.log.list({ status: status === "waiting" ? "running" : "waiting" }))).toEqual([]);
      ends.add(status);
    }
    expect(ends).toEqual(new Set(["running", "waiting"]));
  });

  it("after any write of a status change leaves no list entries once the next owner deleted the agent", async () => {
    const summary = exampleSummary("a", "waiting", { order: "later", dueAt: "2026-01-02T03:04:05.000Z" });
    for (let after = 0, ended = false; !ended; after++) {
      const database = new FakeDynamoDB();
      const { client, owned } = await begun(database);
      ended = await stopped(client, after, () => appendText(owned, "two", { summary }));
      await (await takenOver(processOn(database))).drop();
      expect([after, listsOf(database)]).toEqual([after, []]);
    }
  });
});
