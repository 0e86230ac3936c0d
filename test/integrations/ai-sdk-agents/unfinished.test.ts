import { InMemoryPersistenceStorageProvider, UnfinishedRunError } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { comparable } from "./support/comparable.ts";
import { calling, scriptedModel, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";

/** A desk that finds an order in each run. It wants an approval for that if it is told so. */
function desk(
  sdk: Sdk,
  {
    storage = new InMemoryPersistenceStorageProvider(),
    fails = false,
    needsApproval = false,
    found = [] as string[],
  } = {},
) {
  const { tool, ToolLoopAgent } = sdk.ai;
  const end = text("Found it.");
  const model = scriptedModel(
    [[calling("find", { id: "7" })], fails ? { failsWith: new Error("overloaded"), afterwards: end } : end],
    sdk,
  );
  const find = tool({
    inputSchema: z.object({ id: z.string() }),
    needsApproval,
    execute: async (_input, { toolCallId }) => {
      found.push(toolCallId);
      return { cents: 900 };
    },
  });
  const agents = durableAgent(
    { storage },
    (durable) => new ToolLoopAgent({ model: durable.model(model), tools: durable.tools({ find }), maxRetries: 0 }),
  );
  return { storage, found, model, agents };
}

describe.each(sdks)("an unfinished run before a new run of the AI SDK $version", (sdk) => {
  it("is finished first, and the client sees only the new run", async () => {
    const first = desk(sdk, { fails: true });
    await expect(first.agents.for("a").generate({ prompt: "Find 7." })).rejects.toThrow("overloaded");
    const { agents, found } = desk(sdk, first);
    const undisturbed = await comparable(await desk(sdk).agents.for("a").stream({ prompt: "And again." }));
    const both = agents.for("a", { unfinished: "finish_first" });
    expect(await comparable(await both.stream({ prompt: "And again." }))).toEqual(undisturbed);
    expect(new Set(found).size).toBe(2);
    expect(found).toHaveLength(2);
    const generated = await comparable(await desk(sdk).agents.for("a").generate({ prompt: "Once more." }));
    expect(await comparable(await both.generate({ prompt: "Once more." }))).toEqual(generated);
  });

  it("is finished first, even if the new run has another id and the same input", async () => {
    const first = desk(sdk, { fails: true });
    await expect(first.agents.for("a").generate({ prompt: "Find 7." })).rejects.toThrow("overloaded");
    const { agents } = desk(sdk, first);
    const undisturbed = await comparable(await desk(sdk).agents.for("a").stream({ prompt: "Find 7." }));
    const both = agents.for("a", { unfinished: "finish_first", runId: "second" });
    expect(await comparable(await both.stream({ prompt: "Find 7." }))).toEqual(undisturbed);
  });

  it.each(["resume", "resumeStream"] as const)(
    "is shown to a reconnected client as soon as %s is called",
    async (how) => {
      const first = desk(sdk, { fails: true });
      await expect(first.agents.for("a").generate({ prompt: "Find 7." })).rejects.toThrow("overloaded");
      const { agents } = desk(sdk, first);
      expect(await agents.for("a").attach()).toBeUndefined();
      const resumed = agents.for("a")[how]();
      const attached = await agents.for("a").attach();
      expect(await attached?.text).toBe("Found it.");
      expect(await (await resumed).text).toBe("Found it.");
    },
  );

  it("is refused or ended as the caller chooses", async () => {
    const first = desk(sdk, { fails: true });
    await expect(first.agents.for("a").generate({ prompt: "Find 7." })).rejects.toThrow("overloaded");
    const { agents, found } = desk(sdk, first);
    await expect(agents.for("a").stream({ prompt: "And again." })).rejects.toBeInstanceOf(UnfinishedRunError);
    const result = await agents.for("a", { unfinished: "abandon" }).generate({ prompt: "And again." });
    expect(result.text).toBe("Found it.");
    expect(found).toHaveLength(2);
  });

  it("causes a refusal while it waits for an approval", async () => {
    const first = desk(sdk, { needsApproval: true });
    await first.agents.for("a").generate({ prompt: "Find 7." });
    const { agents, model } = desk(sdk, { ...first, needsApproval: true });
    const another = agents.for("a", { unfinished: "finish_first" }).stream({ prompt: "And again." });
    await expect(another).rejects.toBeInstanceOf(UnfinishedRunError);
    await expect(another).rejects.toThrow("waits for an answer");
    expect(model.asked).toHaveLength(0);
    expect(await agents.agent("a").getRequests()).toHaveLength(1);
  });
});
