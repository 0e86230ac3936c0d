import { StorageError } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { quoted, quotedList } from "../../src/errors/AgentPersistenceError.ts";
import { withArticle } from "../../src/internal/options/optionSchemas.ts";
import { storages, waitingPayer } from "../transfer/movedAgents.ts";

describe("an error message", () => {
  it("quotes the beginning of a long id and its length", () => {
    expect(quoted('a"b')).toBe('"a\\"b"');
    expect(quoted("x".repeat(200))).toBe(`"${"x".repeat(200)}"`);
    expect(quoted("x".repeat(201))).toBe(`"${"x".repeat(200)}…" (201 characters)`);
  });

  it("names the first of many items and the number of others", () => {
    const names = Array.from({ length: 23 }, (_, at) => `n${at}`);
    expect(quotedList(names.slice(0, 2))).toBe('"n0", "n1"');
    expect(quotedList(names)).toMatch(/"n19" and 3 more$/);
  });

  it("has the correct article", () => {
    expect(["object", "Array", "function"].map(withArticle)).toEqual(["an object", "an Array", "a function"]);
  });

  it("about a storage failure gives advice that is correct for a missing table and for a failed device", () => {
    const { message } = new StorageError("io", "read", 'agent "a"', { cause: { code: "42P01" } });
    expect(message).toBe('read failed on agent "a" (io, 42P01). Fix the cause, and open the agent again.');
  });

  it("stays short, however long the ids in it are", async () => {
    const { agent, durable, feature } = await waitingPayer(await storages["memory"]!());
    const long = "x".repeat(1_000_000);
    const agentId = "order-7";
    const refused: readonly (() => Promise<unknown>)[] = [
      () => durable.rollbackToCheckpoint(long),
      () => durable.editCheckpoint(long, { by: "ann", reason: "none" }),
      () => durable.editCheckpoint("1-1", { by: "ann", reason: "none", nodeId: long }),
      () => durable.fork("order-8", { checkpointId: long }),
      () => durable.nameCheckpoint(long, "name"),
      () => durable.nameCheckpoint("1-1", long),
      () => durable.removeCheckpointName(long),
      () => durable.setExecutionPoint({ nodeId: long, input: "" }),
      () => durable.settleToolCall(long, "retry"),
      () => durable.answer(long, true),
      () => feature.answer(long, true),
      () => feature.agent("none").takeOver(),
      () => agent.resume({ agentId, checkpointId: long }),
      () => agent.resume({ agentId: long }),
      () => agent.run("other", { agentId, runId: long }),
    ];
    for (const [at, call] of refused.entries()) {
      const error = (await call().catch((cause: unknown) => cause)) as Error;
      expect([at, error]).toMatchObject([at, { code: expect.any(String) as string }]);
      expect([at, error.message.length]).toEqual([at, Math.min(error.message.length, 1_500)]);
    }
  });
});
