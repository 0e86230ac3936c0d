import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { durableAgent } from "agent-persistence/ai-sdk";
import { toMatchRecording } from "agent-persistence/replay";
import { exportAgent, importAgent } from "agent-persistence/transfer";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { recordsOf } from "../../persistence/support/stored.ts";
import { calling, scriptedModel, type Scripted, text } from "./support/scriptedModel.ts";
import { type Sdk, sdks } from "./support/sdks.ts";

interface Changes {
  readonly steps?: number;
  readonly schema?: z.ZodType<{ readonly id: string }>;
  readonly toolName?: string;
  readonly needsApproval?: boolean;
}

const recorded: readonly Scripted[] = [
  [calling("find", { id: "7" }), calling("find", { id: "8" })],
  [calling("find", { id: "9" })],
  text("Done."),
];

function deskOf(
  sdk: Sdk,
  storage: InMemoryPersistenceStorageProvider,
  script: readonly Scripted[],
  { steps = 8, schema = z.object({ id: z.string() }), toolName = "find", needsApproval = false }: Changes = {},
) {
  const { stepCountIs, tool, ToolLoopAgent } = sdk.ai;
  const model = scriptedModel(script, sdk);
  const found: string[] = [];
  const find = tool({
    inputSchema: schema,
    needsApproval,
    execute: async ({ id }: { readonly id: string }) => {
      if (id === "0") throw new Error("no such order");
      found.push(id);
      return { id };
    },
  });
  const desk = durableAgent(
    { storage },
    (durable) =>
      new ToolLoopAgent({
        id: "desk",
        model: durable.model(model),
        tools: durable.tools({ [toolName]: find }, { [toolName]: { effect: "idempotent" } }),
        stopWhen: stepCountIs(steps),
        maxRetries: 0,
      }),
  );
  return { model, found, desk };
}

/** Records a run, and replays it with changed code whose model has no script. */
async function replayed(sdk: Sdk, changes: Changes = {}, script = recorded, before: Changes = {}) {
  const storage = new InMemoryPersistenceStorageProvider();
  const original = deskOf(sdk, storage, script, before);
  await original.desk
    .for("a")
    .generate({ prompt: "Find them." })
    .catch(() => undefined);
  for (const { requestId } of await original.desk.agent("a").getRequests())
    if (changes.steps !== 0) await original.desk.agent("a").answer(requestId, { approved: true });
  if (before.needsApproval && changes.steps !== 0) await original.desk.for("a").resume();
  const log = await recordsOf(storage);
  const changed = deskOf(sdk, storage, [], { ...before, ...changes, steps: changes.steps || 8 });
  const result = await changed.desk.replay("a");
  expect(await recordsOf(storage)).toEqual(log);
  expect(changed.found).toEqual([]);
  expect(changed.model.asked).toEqual([]);
  return result;
}

describe.each(sdks)("a replay of an agent of the AI SDK $version", (sdk) => {
  it("matches the recorded run, without models, tools and writes", async () => {
    const { result, ...replay } = await replayed(sdk);
    expect(replay).toEqual({ matches: true, status: "completed" });
    expect(result?.text).toBe("Done.");
    expect(toMatchRecording(replay as never).pass).toBe(true);
  });

  it("matches a run with a failed tool, an approval, or an unanswered approval", async () => {
    expect(await replayed(sdk, {}, [[calling("find", { id: "0" })], text("Done.")])).toMatchObject({ matches: true });
    const script = [[calling("find", { id: "7" })], text("Done.")];
    const approved = await replayed(sdk, {}, script, { needsApproval: true });
    expect(approved).toMatchObject({ matches: true, status: "completed" });
    const waiting = await replayed(sdk, { steps: 0 }, script, { needsApproval: true });
    expect(waiting).toEqual({ matches: true, status: "waiting" });
  });

  it("matches an interrupted run up to its last record", async () => {
    const script = [[calling("find", { id: "7" })], { failsWith: new Error("down"), afterwards: text("Done.") }];
    expect(await replayed(sdk, {}, script as never)).toMatchObject({ matches: true, status: "failed" });
  });

  it("matches a run that was resumed after a failure, and after a rollback", async () => {
    const storage = new InMemoryPersistenceStorageProvider();
    const [first, second, last] = recorded;
    const script = [first, { failsWith: new Error("down"), afterwards: second }, last, second, last] as Scripted[];
    const { desk } = deskOf(sdk, storage, script);
    await expect(desk.for("a").generate({ prompt: "Find them." })).rejects.toThrow("down");
    await desk.for("a").resume();
    const replay = () => deskOf(sdk, storage, []).desk.replay("a");
    expect(await replay()).toMatchObject({ matches: true, status: "completed" });
    const [, target] = await desk.agent("a").getCheckpoints();
    await desk.agent("a").rollbackToCheckpoint(target?.checkpointId ?? "");
    expect(await replay()).toEqual({ matches: true, status: "paused" });
    await desk.for("a").resume();
    expect(await replay()).toMatchObject({ matches: true, status: "completed" });
  });

  it("reports a changed input of a tool", async () => {
    const schema = z.object({ id: z.string().transform((id) => `order-${id}`) });
    const { matches, divergence } = await replayed(sdk, { schema });
    expect(matches).toBe(false);
    expect(divergence).toMatchObject({
      what: "call",
      expected: { toolName: "find", input: { id: "7" } },
      actual: { toolName: "find", input: { id: "order-7" } },
    });
    expect(toMatchRecording({ matches, divergence } as never).message()).toContain("call of node run differs");
  });

  it("reports a tool that is gone, a missing request and a new approval", async () => {
    expect((await replayed(sdk, { toolName: "search" })).divergence).toMatchObject({
      what: "call",
      expected: { toolName: "find", input: { id: "7" } },
    });
    expect((await replayed(sdk, { steps: 2 })).divergence).toMatchObject({
      what: "request",
      expected: { role: "assistant" },
    });
    expect((await replayed(sdk, { needsApproval: true })).divergence).toMatchObject({
      what: "input",
      actual: { toolName: "find", input: { id: "7" } },
    });
  });

  it("reports a request that is not recorded", async () => {
    const first = { steps: 2 };
    const storage = new InMemoryPersistenceStorageProvider();
    await deskOf(sdk, storage, recorded, first).desk.for("a").generate({ prompt: "Find them." });
    const { divergence } = await deskOf(sdk, storage, []).desk.replay("a");
    expect(divergence).toMatchObject({ what: "request", actual: { request: 3 } });
  });

  it("refuses unknown runs and options", async () => {
    const { desk } = deskOf(sdk, new InMemoryPersistenceStorageProvider(), recorded);
    await expect(desk.replay("a")).rejects.toMatchObject({ code: "run_not_found" });
    await expect(desk.replay("a", { run: "x" } as never)).rejects.toMatchObject({ code: "invalid_input" });
  });
});

it.each(sdks)("a run with an approval is replayed after an import (AI SDK $version)", async (sdk) => {
  const [storage, other] = [new InMemoryPersistenceStorageProvider(), new InMemoryPersistenceStorageProvider()];
  const script = [[calling("find", { id: "7" })], text("Done.")];
  const { desk } = deskOf(sdk, storage, script, { needsApproval: true });
  await desk.for("a").generate({ prompt: "Find." });
  const [request] = await desk.agent("a").getRequests();
  await desk.agent("a").answer(request?.requestId ?? "", { approved: true });
  expect((await desk.for("a").resume()).text).toBe("Done.");
  await importAgent(other, exportAgent(storage, "a"));
  const imported = deskOf(sdk, other, [], { needsApproval: true });
  expect(await imported.desk.replay("a")).toMatchObject({ matches: true, status: "completed" });
});
