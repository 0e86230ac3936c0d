import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AIAgent, Persistence, persistence, strategy, tool } from "agent-persistence";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { type Errand, openStorage } from "./agents.ts";
import { later } from "./reading.ts";

const migrations = [{ from: 0, to: 1, nodes: { go: "first", end: "last" }, tools: { book: "reserve" } }];

/** The errand of 0.1.0 with other names, as version 1. */
function newErrand(directory: string, given: object = {}): AIAgent<Errand> {
  const reserve = tool({
    name: "reserve",
    description: "reserves",
    inputSchema: z.object({ item: z.string() }),
    effect: "idempotent",
    execute: ({ item }) => ({ made: item }),
  });
  const graph = strategy<Errand, string>("errand", { version: 1 }, (g) => {
    const first = g.node("first", async (input: Errand, context) => {
      await context.tools.call(reserve, { item: `${input.what} 1` });
      return input;
    });
    const last = g.node("last", async (input: Errand, context) => {
      await context.tools.call(reserve, { item: `${input.what} 2` });
      return `${input.what} since ${input.since.toISOString()}`;
    });
    g.edge(g.start, first);
    g.edge(first, last);
    g.edge(last, g.finish);
  });
  const promptExecutor = scriptedModel([]);
  return new AIAgent<Errand>({ llmModel: "scripted", promptExecutor, tools: [reserve], strategy: graph }).install(
    Persistence,
    { storage: openStorage(directory), clock: new SimulatedClock(later), ...given },
  );
}

it("agents of 0.1.0 and their forks are refused by code with other names and continue with a migration", async () => {
  const directory = mkdtempSync(join(tmpdir(), "agent-migrated-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(fileURLToPath(new URL("logs/tasks/", import.meta.url)), directory, { recursive: true });
  const notBegun: string[] = [];
  const ids: string[] = [];
  for await (const check of persistence(newErrand(directory, { migrations })).checkMigrations()) {
    if (check.verdict === "migrates") ids.push(check.agentId);
    else notBegun.push(`${check.agentId} ${check.verdict}`);
  }
  // They have no checkpoint, so nothing of the code is recorded.
  expect(notBegun.toSorted()).toEqual(["failed-for-good same", "paused same", "waiting same"]);
  expect(ids).toContain("cut");
  for (const agentId of ids.slice()) {
    ids.push(`${agentId}-fork`);
    await persistence(newErrand(directory)).agent(agentId).fork(`${agentId}-fork`);
  }
  for (const agentId of ids) {
    await expect(newErrand(directory).resume({ agentId })).rejects.toMatchObject({ code: "strategy_changed" });
    // 0.1.0 did not note which failed calls a resume makes again: its failures are replayed.
    const [ended] = await Promise.allSettled([newErrand(directory, { migrations }).resume({ agentId })]);
    const failed = { status: "rejected", reason: { code: "tool_failed" } };
    const completed = { status: "fulfilled", value: { status: "completed" } };
    expect([agentId, ended]).toMatchObject([agentId, agentId.startsWith("run-failed") ? failed : completed]);
    const checkpoints = await persistence(newErrand(directory, { migrations })).agent(agentId).getCheckpoints();
    expect(checkpoints.filter(({ move }) => move === "migration").length).toBeGreaterThan(0);
  }
});
