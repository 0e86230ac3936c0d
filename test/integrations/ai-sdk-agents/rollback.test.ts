import { InMemoryPersistenceStorageProvider, type PersistenceStorageProvider } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { crashAfter } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Gate } from "./support/gate.ts";
import { calling, scriptedModel, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";

const order = z.object({ id: z.string() });

/** A desk that has an agent for refunds. What is refunded is in the till, and a rollback takes it out again. */
function desk(
  sdk: Sdk,
  {
    storage = new InMemoryPersistenceStorageProvider() as PersistenceStorageProvider,
    till = [] as string[],
    until = () => Promise.resolve(),
  } = {},
) {
  const { tool, ToolLoopAgent } = sdk.ai;
  const models = {
    desk: scriptedModel(
      [[calling("delegate", { id: "1" })], [calling("refund", { id: "2" })], text("Both are refunded.")],
      sdk,
    ),
    cashier: scriptedModel([[calling("refund", { id: "1" })], text("It is refunded.")], sdk),
  };
  const refund = tool({
    inputSchema: order,
    execute: async ({ id }) => {
      till.push(id);
      return { refund: `r${id}` };
    },
  });
  const agents = durableAgent({ storage, abortGraceMs: 0 }, (durable) => {
    const tools = durable.tools(
      { refund },
      { refund: { rollback: ({ id }, { output }) => till.push(`not ${id} ${output.refund}`) } },
    );
    const cashier = new ToolLoopAgent({
      model: durable.model(models.cashier),
      tools,
      prepareStep: async ({ stepNumber }) => {
        if (stepNumber === 1) await until();
        return {};
      },
    });
    const delegate = tool({
      inputSchema: order,
      execute: async ({ id }, { abortSignal }) =>
        (await cashier.generate({ prompt: `Refund ${id}.`, ...(abortSignal && { abortSignal }) })).text,
    });
    return new ToolLoopAgent({
      model: durable.model(models.desk),
      tools: { ...tools, ...durable.tools({ delegate }, { delegate: { effect: "none" } }) },
    });
  });
  const asked = () => ({ desk: models.desk.asked.length, cashier: models.cashier.asked.length });
  return { storage, till, agents, asked };
}

describe.each(sdks)("a durable agent of the AI SDK $version", (sdk) => {
  it("rolls back from another process, including agents in its tools, and runs again", async () => {
    const first = desk(sdk);
    await first.agents.for("a").generate({ prompt: "Refund 1 and 2." });
    const { agents, till, asked } = desk(sdk, first);
    const [, afterFirstStep] = await agents.agent("a").getCheckpoints();
    const last = await agents.agent("a").rollbackToCheckpoint(afterFirstStep!.checkpointId);
    expect(last.reverted.map(({ toolName, input }) => [toolName, input])).toEqual([["refund", { id: "2" }]]);
    expect(till).toEqual(["1", "2", "not 2 r2"]);
    expect((await agents.for("a").resume()).text).toBe("Both are refunded.");
    expect(asked()).toEqual({ desk: 2, cashier: 0 });
    const [start] = await agents.agent("a").getCheckpoints();
    const all = await agents.agent("a").rollbackToCheckpoint(start!.checkpointId);
    expect(all.failed).toEqual([]);
    expect(till.slice(3)).toEqual(["2", "not 2 r2", "not 1 r1"]);
    expect((await agents.for("a").resume()).text).toBe("Both are refunded.");
    expect(till.slice(6)).toEqual(["1", "2"]);
  });

  it("continues within an agent in a tool from its recorded results", async () => {
    const gate = new Gate();
    const first = desk(sdk, { until: () => gate.pass() });
    const controller = new AbortController();
    const run = first.agents.for("a").generate({ prompt: "Refund 1 and 2.", abortSignal: controller.signal });
    await gate.reached;
    controller.abort(new Error("enough"));
    await expect(run).rejects.toThrow("enough");
    expect(first.asked()).toEqual({ desk: 1, cashier: 1 });
    const { agents, till, asked } = desk(sdk, first);
    expect((await agents.for("a").resume()).text).toBe("Both are refunded.");
    expect(asked()).toEqual({ desk: 2, cashier: 1 });
    expect(till).toEqual(["1", "2"]);
  });

  it("names its own functions for a rollback that a crash interrupted in an inverse", async () => {
    const first = desk(sdk);
    await first.agents.for("a").generate({ prompt: "Refund 1 and 2." });
    const { checkpointId } = (await first.agents.agent("a").getCheckpoints())[1]!;
    const storage = crashAfter(first.storage, 2);
    const crashed = desk(sdk, { ...first, storage })
      .agents.agent("a")
      .rollbackToCheckpoint(checkpointId);
    await expect(crashed).rejects.toMatchObject({ code: "simulated_crash" });
    expect(first.till.at(-1)).toBe("not 2 r2");
    const durable = desk(sdk, first).agents.agent("a");
    const [call] = await durable.getToolCallsInDoubt();
    const { code, message } = (await durable
      .rollbackToCheckpoint(checkpointId)
      .catch((error: unknown) => error)) as Error & {
      readonly code: string;
    };
    expect(code).toBe("rollback_incomplete");
    expect(message).toContain(`desk.agent("a").settleToolCall("${call?.toolCallId}"`);
    expect(message).not.toMatch(/persistence\(agent\)|registerRollback|effect: "idempotent"/);
    await durable.settleToolCall(call?.toolCallId ?? "", { output: undefined });
    expect((await durable.rollbackToCheckpoint(checkpointId)).reverted).toHaveLength(1);
  });
});
