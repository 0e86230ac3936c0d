import { Agent } from "@openai/agents-core";
import { describe, expect, it } from "vitest";
import { DynamoDBPersistenceStorageProvider } from "../../../src/dynamodb.ts";
import { DurableRunner, PersistenceSession } from "../../../src/openai-agents.ts";
import { LogPersistenceStorageProvider, type RecordLog } from "../../../src/storage.ts";
import { FakeDynamoDB } from "../../storage/dynamodb/support/FakeDynamoDB.ts";
import { anyProcess } from "../../testing/conformance/anyProcess.ts";
import { ProcessClocks } from "../../testing/conformance/ProcessClocks.ts";
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

describe("a process whose run another process took over and finished", () => {
  it("removes no items of the run from its session", async () => {
    const client = new FakeDynamoDB();
    const clocks = new ProcessClocks();
    const logOfProcess = () => {
      const clock = clocks.start();
      const { log } = new DynamoDBPersistenceStorageProvider({
        client,
        tableName: "agents",
        clock,
        processIdentity: anyProcess,
      });
      return log;
    };
    const gate = new Gate();
    const sessionIn = (log: RecordLog) =>
      new PersistenceSession({ storage: new LogPersistenceStorageProvider(log), sessionId: "talk" });
    const runnerOn = (log: RecordLog) => new DurableRunner({ storage: new LogPersistenceStorageProvider(log) });
    const own = logOfProcess();
    const agent = new Agent({ name: "desk", model: new FakeModel(() => [says("done")]) });
    const run = { agentId: "a", runId: "r" };
    const ofLost = sessionIn(readBehind(gate, own));
    const lost = runnerOn(own)
      .run(agent, "Go.", { ...run, session: ofLost })
      .catch((error: unknown) => error);
    await gate.reached;
    clocks.stopAll();
    const other = logOfProcess();
    const session = sessionIn(other);
    const again = () => runnerOn(other).run(agent, "Go.", { ...run, session });
    // It sees for how long the owner is silent.
    await expect(again()).rejects.toMatchObject({ code: "agent_busy" });
    clocks.advance(60_000);
    await again();
    const kept = await session.getItems();
    gate.open();
    expect(await lost).toMatchObject({ code: "ownership_lost" });
    expect(kept).toHaveLength(2);
    expect(await session.getItems()).toEqual(kept);
  });
});
