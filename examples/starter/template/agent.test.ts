import assert from "node:assert/strict";
import { test } from "node:test";
import { InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { crashAfter, scriptedModel } from "agent-persistence/testing";
import { bookingAgent, type Seats } from "./agent.ts";

const turns = [
  { toolCalls: ["Alex", "Maria"].map((name) => ({ toolName: "bookSeat", input: { name } })) },
  "Both seats are booked.",
];

await test("books each seat once, after a crash at any save, and rolls back", async () => {
  for (let saves = 0, crashed = true; crashed; saves++) {
    const storage = new InMemoryPersistenceStorageProvider();
    const seats: Seats = new Map();
    const given = { promptExecutor: scriptedModel(turns), llmModel: "scripted", seats };
    const run = { agentId: "trip", runId: "monday" };
    crashed = await bookingAgent({ ...given, storage: crashAfter(storage, saves) })
      .run("Book two seats.", run)
      .then(
        () => false,
        () => true,
      );
    const agent = bookingAgent({ ...given, storage });
    const result = await agent.run("Book two seats.", run);
    assert.equal(result.status, "completed");
    assert.deepEqual([...seats.values()].toSorted(), ["Alex", "Maria"]);
    const durable = persistence(agent).agent("trip");
    const [first] = await durable.getCheckpoints();
    assert.ok(first);
    await durable.rollbackToCheckpoint(first.checkpointId);
    assert.equal(seats.size, 0);
  }
});
