import { AIAgent, Persistence, persistence, tool, type AgentFilter } from "agent-persistence";
import type { LogPersistenceStorageProvider } from "agent-persistence/storage";
import { recoverTasks, TaskManager, type RecoverAllOptions } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { logStorages } from "../../persistence/support/storages.ts";
import { recordsOf } from "../../persistence/support/stored.ts";

/** An agent with the default strategy and one tool, whose first turn uses it. */
function definition(storage: LogPersistenceStorageProvider, toolName: string, execute: () => void = () => {}) {
  const only = tool({
    name: toolName,
    description: "",
    inputSchema: z.object({}),
    effect: "idempotent",
    execute: () => execute(),
  });
  const promptExecutor = scriptedModel([{ toolCalls: [{ toolName, input: {} }] }, "Done."]);
  return new AIAgent({ promptExecutor, llmModel: "m", tools: [only] }).install(Persistence, { storage });
}

/** Runs one until its signal is aborted inside its tool. */
async function interrupt(storage: LogPersistenceStorageProvider, toolName: string, agentId: string): Promise<void> {
  const stop = new AbortController();
  const agent = definition(storage, toolName, () => stop.abort(new Error("stopped")));
  await expect(agent.run("go", { agentId, signal: stop.signal })).rejects.toThrow("stopped");
}

async function recovered(agent: AIAgent<string, string>, options?: RecoverAllOptions) {
  const outcomes: [string, unknown][] = [];
  for await (const outcome of recoverTasks(agent, options))
    outcomes.push([
      outcome.agentId,
      "error" in outcome ? (outcome.error as { readonly code: string }).code : outcome.report.result?.status,
    ]);
  return outcomes;
}

describe.each(logStorages)("$name: two definitions in one storage", ({ open }) => {
  it("refuse each other's runs without writing, and recover their agents", async () => {
    const opened = await open();
    await interrupt(opened(), "charge", "billing-1");
    await interrupt(opened(), "send", "mail-1");
    const before = await recordsOf(opened(), "billing-1");
    expect(await recovered(definition(opened(), "send"))).toEqual([
      ["billing-1", "strategy_changed"],
      ["mail-1", "completed"],
    ]);
    expect(await recordsOf(opened(), "billing-1")).toEqual(before);
    expect(await recovered(definition(opened(), "charge"))).toEqual([["billing-1", "completed"]]);
  });

  it("consider only agents chosen by id", async () => {
    const opened = await open();
    await interrupt(opened(), "charge", "billing-1");
    await interrupt(opened(), "send", "mail-1");
    const only: AgentFilter = ({ agentId }) => agentId.startsWith("mail-");
    const mailer = definition(opened(), "send");
    const listed = [];
    for await (const { agentId } of persistence(mailer).unfinished({ only })) listed.push(agentId);
    expect(listed).toEqual(["mail-1"]);
    expect(await recovered(mailer, { only })).toEqual([["mail-1", "completed"]]);
  });

  it("consider only tasks chosen by name", async () => {
    const opened = await open();
    const tasks = new TaskManager({ storage: opened() });
    await tasks.create({ taskId: "1", taskName: "charge", inputRequest: "go" });
    await tasks.create({ taskId: "2", taskName: "send", inputRequest: "go" });
    await interrupt(opened(), "charge", "1");
    await interrupt(opened(), "send", "2");
    const only: AgentFilter = ({ taskName }) => taskName === "send";
    expect(await recovered(definition(opened(), "send"), { only })).toEqual([["2", "completed"]]);
  });

  it("refuse an invalid choice", async () => {
    const agent = definition((await open())(), "send");
    const only = "mail-" as unknown as AgentFilter;
    await expect(recovered(agent, { only })).rejects.toMatchObject({
      code: "invalid_input",
      problems: [{ path: "only" }],
    });
  });
});
