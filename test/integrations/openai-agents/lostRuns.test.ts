import { Agent } from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { DurableRunner, PersistenceSession } from "../../../src/openai-agents.ts";
import { LogPersistenceStorageProvider, type RecordLog } from "../../../src/storage.ts";
import { inDynamoDB } from "../../storage/dynamodb/inDynamoDB.ts";
import { Gate } from "../ai-sdk-agents/support/gate.ts";
import { FakeModel, says } from "./fakeModel.ts";

/** A log that is read only once the gate is open. */
function readBehind(gate: Gate, log: RecordLog): RecordLog {
  const read: RecordLog["read"] = async function* (...args) {
    await gate.pass();
    yield* log.read(...args);
  };
  const get = (target: RecordLog, key: PropertyKey): unknown => {
    const value: unknown = key === "read" ? read : Reflect.get(target, key);
    return typeof value === "function" ? value.bind(target) : value;
  };
  return new Proxy(log, { get });
}

describe("a process that has lost its run to another one, which has finished it", () => {
  it("takes nothing back of what the run has added to its session", async () => {
    const database = inDynamoDB();
    const { advance } = database;
    if (typeof advance !== "function") throw new Error("The clocks of these processes stand still.");
    const gate = new Gate();
    const sessionIn = (log: RecordLog) =>
      new PersistenceSession({ storage: new LogPersistenceStorageProvider(log), sessionId: "talk" });
    const runnerOn = (log: RecordLog) => new DurableRunner({ storage: new LogPersistenceStorageProvider(log) });
    const own = database.log;
    const agent = new Agent({ name: "desk", model: new FakeModel(() => [says("done")]) });
    const run = { agentId: "a", runId: "r" };
    const ofLost = sessionIn(readBehind(gate, own));
    const lost = runnerOn(own)
      .run(agent, "Go.", { ...run, session: ofLost })
      .catch((error: unknown) => error);
    await gate.reached;
    database.silence();
    const other = database.reopen();
    const session = sessionIn(other);
    const again = () => runnerOn(other).run(agent, "Go.", { ...run, session });
    // It sees for how long the owner is silent.
    await expect(again()).rejects.toMatchObject({ code: "agent_busy" });
    await advance(60_000);
    await again();
    const kept = await session.getItems();
    gate.open();
    expect(await lost).toMatchObject({ code: "ownership_lost" });
    expect(kept).toHaveLength(2);
    expect(await session.getItems()).toEqual(kept);
  });
});
