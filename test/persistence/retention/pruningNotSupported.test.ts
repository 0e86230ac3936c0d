import { NoPersistenceStorageProvider, persistence, strategy } from "agent-persistence";
import { PruningNotSupportedError } from "agent-persistence/errors";
import { expect, it } from "vitest";
import { durableAgent } from "../support/durableAgent.ts";
import { RowsProvider } from "../support/storages.ts";

const echo = strategy<string, string>("echo", (g) => {
  const only = g.node("only", (text: string) => text);
  g.edge(g.start, only);
  g.edge(only, g.finish);
});

it.each<[string, (agent: ReturnType<typeof durableAgent>) => Promise<unknown>]>([
  ["prune()", (agent) => persistence(agent).prune()],
  ["prune()", (agent) => persistence(agent).prune({ dryRun: true })],
  ["prune()", (agent) => persistence(agent).prune({ agentId: "a" })],
  ["deleteAgent()", (agent) => persistence(agent).deleteAgent("a")],
])("a three-method storage refuses %s and changes nothing", async (operation, action) => {
  const provider = new RowsProvider();
  const agent = durableAgent(echo, provider);
  await agent.run("go", { runId: "r" });
  const before = await provider.getCheckpoints("a");
  const error: unknown = await action(agent).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(PruningNotSupportedError);
  expect(error).toMatchObject({ code: "pruning_not_supported", operation });
  expect(await provider.getCheckpoints("a")).toEqual(before);
  expect(await agent.run("go", { runId: "r" })).toMatchObject({ output: "go" });
});

it("retention on a three-method storage is refused when the feature is installed", () => {
  expect(() => durableAgent(echo, new RowsProvider(), { retention: {} })).toThrow(PruningNotSupportedError);
});

it("pruning a storage without data removes no agents", async () => {
  const agent = durableAgent(echo, new NoPersistenceStorageProvider(), { retention: {} });
  await agent.run("go");
  expect(await persistence(agent).prune()).toEqual({ pruned: [], busy: [], failed: [], bytes: 0 });
  await expect(persistence(agent).deleteAgent("a")).resolves.toBeUndefined();
});
