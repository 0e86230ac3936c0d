import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { ReplayDivergedError } from "agent-persistence/errors";
import { durableAgent } from "agent-persistence/ai-sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { calling, scriptedModel, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";

interface DeskOptions {
  /** The second request fails when it is made first. */
  readonly fails?: boolean;
  /** What the schema of the tool adds to an id. */
  readonly prefix?: string;
  readonly effect?: "none" | "irreversible";
}

function desk(
  sdk: Sdk,
  storage: InMemoryPersistenceStorageProvider,
  { fails = false, prefix = "", effect = "irreversible" }: DeskOptions = {},
) {
  const { tool, ToolLoopAgent } = sdk.ai;
  const end = text("Found it.");
  const model = scriptedModel(
    [[calling("find", { id: "7" })], fails ? { failsWith: new Error("overloaded"), afterwards: end } : end],
    sdk,
  );
  const found: string[] = [];
  const find = tool({
    inputSchema: z.object({ id: z.string().transform((id) => prefix + id) }),
    execute: async ({ id }) => {
      found.push(id);
      return { cents: 900 };
    },
  });
  const agents = durableAgent(
    { storage },
    (durable) =>
      new ToolLoopAgent({
        model: durable.model(model),
        tools: durable.tools({ find }, { find: { effect } }),
        maxRetries: 0,
      }),
  );
  return { found, model, agents };
}

describe.each(sdks)("a run of the AI SDK $version with a changed definition", (sdk) => {
  it("is refused without a model request if a call with an effect has another input", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const first = desk(sdk, storage, { fails: true });
    await expect(first.agents.for("a").generate({ prompt: "Find 7." })).rejects.toThrow("overloaded");
    const { agents, found, model } = desk(sdk, storage, { prefix: "#" });
    await expect(agents.for("a").resume()).rejects.toBeInstanceOf(ReplayDivergedError);
    expect([model.asked.length, found]).toEqual([0, []]);
    const unchanged = desk(sdk, storage);
    expect((await unchanged.agents.for("a").resume()).text).toBe("Found it.");
    expect([unchanged.model.asked.length, unchanged.found]).toEqual([1, []]);
  });

  it("repeats a call without an effect with its new input", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const first = desk(sdk, storage, { fails: true, effect: "none" });
    await expect(first.agents.for("a").generate({ prompt: "Find 7." })).rejects.toThrow("overloaded");
    const { agents, found } = desk(sdk, storage, { prefix: "#", effect: "none" });
    expect((await agents.for("a").resume()).text).toBe("Found it.");
    expect(found).toEqual(["#7"]);
  });
});
