import { persistence, strategy } from "agent-persistence";
import type { AgentSummary, LogPersistenceStorageProvider } from "agent-persistence/storage";
import { STATE_TRANSITIONS, type TaskStatus } from "agent-persistence/task";
import { describe, expect, it } from "vitest";
import type { AgentRecord } from "../../../src/checkpoint/records/AgentRecord.ts";
import { agentSummary } from "../../../src/journal/agentSummary.ts";
import { AgentLog } from "../../../src/storage/AgentLog.ts";
import { durableAgent, Fault } from "../support/durableAgent.ts";
import { latestOf, recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";

const time = "2026-01-01T00:00:00.000Z";

/** Two nodes; the second fails as long as the fault is there. */
function twoNodes(fault: Fault, seen: () => Promise<void> = async () => {}) {
  return strategy<string, string>("s", (g) => {
    const first = g.node("first", (input: string) => input);
    const second = g.node("second", async (input: string) => {
      await seen();
      fault.strike();
      return input;
    });
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });
}

/** The summary of the one agent, which must be the one that its log tells by itself, but for what changes with each append. */
async function summaryOf(storage: LogPersistenceStorageProvider): Promise<AgentSummary> {
  const summaries: AgentSummary[] = [];
  for await (const summary of storage.log.list()) summaries.push(summary);
  const [summary] = summaries;
  if (!summary) throw new Error("There is no summary.");
  const told = agentSummary("a", (await AgentLog.read(storage.log, "a")).index.statusState);
  const { position, checkpoints } = summary;
  expect(JSON.parse(JSON.stringify({ ...told, position, checkpoints }))).toEqual(summary);
  return summary;
}

/** Every pair of statuses that a log moves between, run by run. */
async function movesOf(
  storage: LogPersistenceStorageProvider,
): Promise<readonly (readonly [TaskStatus, TaskStatus])[]> {
  const moves: (readonly [TaskStatus, TaskStatus])[] = [];
  let at: TaskStatus | undefined;
  for (const record of (await recordsOf(storage)) as readonly AgentRecord[]) {
    if (record.kind === "run") at = "in_progress";
    if (record.kind !== "status" && record.kind !== "checkpoint") continue;
    const next = record.status;
    if (next === undefined || next === at) continue;
    if (at) moves.push([at, next]);
    at = next;
  }
  return moves;
}

describe.each(logStorages)("$name: the status of an agent", (storage) => {
  async function started() {
    const storageOf = await storage.open();
    const fault = new Fault();
    return { storageOf, fault, build: () => durableAgent(twoNodes(fault), storageOf()) };
  }

  it("is in_progress while it runs, with no more data than at its start", async () => {
    const storageOf = await storage.open();
    const seen: AgentSummary[] = [];
    const fault = new Fault();
    fault.repair();
    const look = async () => void seen.push(await summaryOf(storageOf()));
    await durableAgent(twoNodes(fault, look), storageOf()).run("in", { runId: "r" });
    expect(seen).toMatchObject([
      { status: "in_progress", runId: "r", order: `~p${time} a`, createdAt: time, data: { startedAt: time } },
    ]);
  });

  it("is completed with its output", async () => {
    const { storageOf, fault, build } = await started();
    fault.repair();
    await build().run("in");
    expect(await summaryOf(storageOf())).toMatchObject({
      status: "completed",
      updatedAt: time,
      data: { completedAt: time, finalOutput: "in", filesModified: [], verificationResults: [] },
    });
  });

  it("is failed with the error and the number of retries, and then continues through the queue", async () => {
    const { storageOf, fault, build } = await started();
    for (const retryCount of [0, 1, 2]) {
      await expect(retryCount === 0 ? build().run("in") : build().resume()).rejects.toThrow("stopped");
      const { status, data } = await summaryOf(storageOf());
      expect([status, data]).toMatchObject([
        "failed",
        { failedAt: time, errorType: "Error", errorMessage: "stopped", recoverable: true, retryCount },
      ]);
      expect((data as { readonly stackTrace: string }).stackTrace).toContain("strike");
    }
    fault.repair();
    await build().resume();
    expect(await summaryOf(storageOf())).toMatchObject({ status: "completed" });
    const again = [
      ["failed", "queued"],
      ["queued", "in_progress"],
      ["in_progress", "failed"],
    ];
    expect(await movesOf(storageOf())).toEqual([
      ["in_progress", "failed"],
      ...again,
      ...again,
      ...again.slice(0, 2),
      ["in_progress", "completed"],
    ]);
  });

  it("keeps a bounded part of a long message", async () => {
    const storageOf = await storage.open();
    const long = strategy<string, string>("s", (g) => {
      const only = g.node("only", (_input: string): string => {
        throw new RangeError("x".repeat(50_000));
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    await expect(durableAgent(long, storageOf()).run("in")).rejects.toThrow("xxx");
    const { data } = await summaryOf(storageOf());
    expect(data).toMatchObject({ errorType: "RangeError" });
    expect(JSON.stringify(data).length).toBeLessThan(21_000);
  });

  it("is paused with a reason after a move from outside", async () => {
    const { storageOf, build } = await started();
    await expect(build().run("in")).rejects.toThrow("stopped");
    await persistence(build()).agent().setExecutionPoint({ nodeId: "first", input: "again" });
    const { checkpointId } = await latestOf(build());
    expect(await summaryOf(storageOf())).toMatchObject({
      status: "paused",
      data: { pausedAt: time, pauseReason: "execution point set to node first", snapshot: checkpointId },
    });
    await persistence(build()).agent().rollbackToCheckpoint("1-1");
    expect(await summaryOf(storageOf())).toMatchObject({
      status: "paused",
      data: { pauseReason: "rolled back to checkpoint 1-1", snapshot: (await latestOf(build())).checkpointId },
    });
  });

  it("is cancelled if another run replaces it", async () => {
    const { storageOf, fault, build } = await started();
    await expect(build().run("in")).rejects.toThrow("stopped");
    await expect(build().run("other", { unfinished: "abandon" })).rejects.toThrow("stopped");
    fault.repair();
    await build().run("last", { unfinished: "abandon" });
    expect(await summaryOf(storageOf())).toMatchObject({ status: "completed", data: { finalOutput: "last" } });
    expect(await movesOf(storageOf())).toEqual([
      ["in_progress", "failed"],
      ["failed", "queued"],
      ["queued", "cancelled"],
      ["in_progress", "failed"],
      ["failed", "queued"],
      ["queued", "cancelled"],
      ["in_progress", "completed"],
    ]);
  });

  it("changes only as the table allows, through any operation", async () => {
    const { storageOf, fault, build } = await started();
    const outside = () => persistence(build()).agent();
    await expect(build().run("in")).rejects.toThrow("stopped");
    await outside().rollbackToCheckpoint("1-1");
    await expect(build().resume()).rejects.toThrow("stopped");
    const aborted = new AbortController();
    aborted.abort(new Error("aborted"));
    await expect(build().resume({ signal: aborted.signal })).rejects.toThrow("aborted");
    await expect(build().resume({ checkpointId: "1-1" })).rejects.toThrow("stopped");
    await outside().rollbackToLatestCheckpoint();
    fault.repair();
    await build().resume();
    await outside().setExecutionPoint({ nodeId: "first", input: "again" });
    await build().resume();
    const moves = await movesOf(storageOf());
    expect(moves.length).toBeGreaterThan(12);
    expect(moves.filter(([from, to]) => !STATE_TRANSITIONS[from].includes(to))).toEqual([]);
    expect(await summaryOf(storageOf())).toMatchObject({ status: "completed" });
  });
});

describe.each(logStorages)("$name: the output in the summary of a run", (storage) => {
  async function dataAfter(output: unknown): Promise<Record<string, unknown>> {
    const storageOf = await storage.open();
    const gives = strategy<string, never>("s", (g) => {
      const only = g.node("only", (_input: string, context) => {
        if (typeof output === "object" && output !== null && "role" in output) context.llm.append(output as never);
        return output as never;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    await durableAgent(gives, storageOf()).run("in");
    expect((await durableAgent(gives, storageOf()).resume()).status).toBe("completed");
    return (await summaryOf(storageOf())).data as Record<string, unknown>;
  }

  it.each([["text"], [{ a: [1, null] }], [{ role: "user", content: "a message of the history" }]])(
    "is readable without the log: %j",
    async (output) => {
      expect((await dataAfter(output))["finalOutput"]).toEqual(output);
    },
  );

  it("has its stored form if JSON cannot represent it", async () => {
    expect((await dataAfter(new Date(0)))["finalOutput"]).toHaveProperty("$rich");
  });

  it("is a reference to its blob if it is large", async () => {
    const data = await dataAfter("x".repeat(20_000));
    expect(data["finalOutput"]).toEqual({ $blob: [expect.stringMatching(/^blob:\/\/[0-9a-f]{64}-1$/), 20_002] });
  });
});
