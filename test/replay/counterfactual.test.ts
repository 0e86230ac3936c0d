import { InMemoryPersistenceStorageProvider, persistence } from "agent-persistence";
import { compareRuns, readRunTrace, replayRun } from "agent-persistence/replay";
import { beforeAll, describe, expect, it } from "vitest";
import { executed, importAgent } from "./importProgram.ts";

const storage = new InMemoryPersistenceStorageProvider();
const recorded = { storage, agentId: "import" };

beforeAll(async () => {
  const agent = importAgent(storage);
  await agent.run("Today?", { runId: "r" });
  const durable = persistence(agent).agent();
  for (const { requestId } of await durable.getRequests()) await durable.answer(requestId, "yes");
  await agent.resume();
  executed.length = 0;
});

describe("replayRun with a candidate", () => {
  it("runs changed code with the recorded responses, outcomes and answers", async () => {
    const agent = importAgent(storage, { question: "Who has left?", output: (text) => `${text}!` });
    const result = await replayRun(agent, { ...recorded, model: "recorded" });
    expect(result).toMatchObject({ matches: false, status: "completed", output: "fine friendly!" });
    expect(executed).toEqual([]);
  });

  it("returns the outcomes of calls that a model requested before the checkpoint", async () => {
    const checkpoints = await persistence(importAgent(storage)).agent("import").getCheckpoints();
    const from = checkpoints.find(({ nodeId }) => nodeId === "act")?.checkpointId;
    const result = await replayRun(importAgent(storage), { ...recorded, from });
    expect(result).toMatchObject({ matches: true, status: "completed", output: "fine friendly" });
    expect(executed).toEqual([]);
  });

  it("stops at a call without a recording, and names it", async () => {
    const agent = importAgent(storage, { order: ["first", "third"] });
    const result = await replayRun(agent, { ...recorded, model: "recorded" });
    expect(result).toMatchObject({
      status: "stopped",
      divergence: { what: "call", nodeId: "check", actual: { toolName: "add", input: { item: "third" } } },
    });
    expect(executed).toEqual([]);
  });

  it("simulates a call without a recording", async () => {
    const calls: unknown[] = [];
    const onUnrecordedCall = (call: unknown) => {
      calls.push(call);
      return { made: "simulated" };
    };
    const agent = importAgent(storage, { order: ["first", "third"] });
    const result = await replayRun(agent, { ...recorded, onUnrecordedCall });
    expect(result).toMatchObject({ matches: true, status: "completed", output: "fine friendly" });
    expect(calls).toEqual([{ toolName: "add", input: { item: "third" }, nodeId: "check", agentPath: [] }]);
    expect(executed).toEqual([]);
  });

  it("executes an unrecorded call only if its tool has no effect", async () => {
    const agent = importAgent(storage, { lookupItem: "Bob", order: ["first", "third"] });
    const effectful = await replayRun(agent, { ...recorded, onUnrecordedCall: "execute" });
    expect(effectful).toMatchObject({ status: "stopped", divergence: { what: "call" } });
    expect(executed).toEqual([]);
    const harmless = importAgent(storage, { lookupItem: "Bob" });
    const result = await replayRun(harmless, { ...recorded, onUnrecordedCall: "execute" });
    expect(result).toMatchObject({ status: "completed" });
    expect(executed).toEqual(["lookup Bob"]);
    executed.length = 0;
  });

  it("asks a live model with another name and system prompt", async () => {
    const agent = importAgent(storage);
    const result = await replayRun(agent, {
      ...recorded,
      model: "live",
      llmModel: "larger",
      systemPrompt: "Be brief.",
    });
    expect(result).toMatchObject({ matches: true, status: "completed" });
    expect(result.trace.visits[0]?.requests[0]).toMatchObject({ model: "larger" });
  });

  it("starts at a checkpoint of the main line", async () => {
    const agent = importAgent(storage);
    const outside = persistence(agent).agent();
    const checkpoints = await outside.getCheckpoints();
    for (const { checkpointId } of checkpoints) {
      const result = await replayRun(agent, {
        ...recorded,
        from: checkpointId,
        onUnrecordedCall: () => ({ made: "x" }),
      });
      expect({ ...result, checkpointId }).toMatchObject({ status: "completed", output: "fine friendly", checkpointId });
    }
    expect(executed).toEqual([]);
  });

  it("refuses an unknown checkpoint and a wrong option", async () => {
    const agent = importAgent(storage);
    await expect(replayRun(agent, { ...recorded, from: "none" })).rejects.toMatchObject({
      code: "checkpoint_not_found",
    });
    await expect(replayRun(agent, { ...recorded, model: "other" as never })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(replayRun(agent, { ...recorded, runId: "none" })).rejects.toMatchObject({ code: "run_not_found" });
  });
});

describe("the trace of a replay", () => {
  it("equals the stored run without its times", async () => {
    const { trace } = await replayRun(importAgent(storage), recorded);
    const stored = await readRunTrace(storage, { agentId: "import" });
    const comparison = compareRuns(stored, trace);
    expect(trace.visits.map(({ node }) => node)).toEqual(stored.visits.map(({ node }) => node));
    expect(trace.visits.map(({ calls }) => calls.map(({ tool, input, output }) => ({ tool, input, output })))).toEqual(
      stored.visits.map(({ calls }) => calls.map(({ tool, input, output }) => ({ tool, input, output }))),
    );
    expect(comparison.steps.filter(({ change }) => change !== "same")).toEqual([]);
    expect(comparison).toMatchObject({ isSame: true });
  });
});
