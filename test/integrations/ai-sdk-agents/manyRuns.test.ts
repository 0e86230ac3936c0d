import { AsyncLocalStorage } from "node:async_hooks";
import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableAgent, durableRun } from "agent-persistence/ai-sdk";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { calling, scriptedModel, text } from "./support/scriptedModel.ts";
import { sdks } from "./support/sdks.ts";

/** The scopes that code of this package or of a test enters while the body runs. */
async function scopesEntered(body: () => Promise<unknown>): Promise<ReadonlySet<unknown>> {
  const run = vi.spyOn(AsyncLocalStorage.prototype, "run");
  onTestFinished(() => run.mockRestore());
  await body();
  return new Set(run.mock.contexts);
}

describe.each(sdks)("many runs with the AI SDK $version", (sdk) => {
  const { generateText, stepCountIs, tool, ToolLoopAgent } = sdk.ai;
  const find = tool({ inputSchema: z.object({ id: z.string() }), execute: async ({ id }) => ({ id }) });
  const script = () => scriptedModel([[calling("find", { id: "7" })], text("Found it.")], sdk);

  // Node 20 carries each scope that was ever entered through every promise, until the process ends.
  it("share their scopes, so that a run costs the same after any number of runs", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const agents = durableAgent({ storage }, (durable) => {
      const tools = durable.tools({ find }, { find: { effect: "none" } });
      return new ToolLoopAgent({ model: durable.model(script()), tools, stopWhen: stepCountIs(3) });
    });
    const runs = async (agentId: string) => {
      await agents.for(agentId).generate({ prompt: "Find it." });
      await durableRun({ storage, agentId: `${agentId} alone` }, (durable) =>
        generateText({
          model: durable.model(script()),
          tools: durable.tools({ find }, { find: { effect: "none" } }),
          prompt: "Find it.",
        }),
      );
    };
    const first = await scopesEntered(() => runs("a"));
    const later = await scopesEntered(() => Promise.all(["a", "b", "c"].map((agentId) => runs(`${agentId} later`))));
    expect(first.size).toBeGreaterThan(0);
    expect([...later].filter((scope) => !first.has(scope))).toEqual([]);
  });
});
