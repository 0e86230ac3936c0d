import { AIAgent, Persistence, persistence, strategy } from "agent-persistence";
import { TaskManager } from "agent-persistence/task";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { logStorages } from "../../support/storages.ts";

const graph = strategy<string, string>("s", (s) => {
  const node = s.node<string, Promise<string>>("node", { input: undefined }, async (text, context) => {
    context.setProgress(5, undefined);
    context.recordDecision({ decision: "go", reason: undefined });
    context.require({ files: undefined, environment: undefined });
    context.llm.configure({ model: undefined, parameters: undefined, tools: undefined });
    const durable = persistence(context);
    durable.note({ key: "k", value: 1, contents: undefined });
    await durable.createCheckpoint({
      agentContext: undefined,
      nodeId: undefined,
      lastInputType: undefined,
      checkpointId: undefined,
      version: undefined,
    });
    return text;
  });
  s.edge(s.start, node);
  s.edge(node, s.finish, { when: undefined });
});

describe.each(logStorages)("undefined options, on storage in $name", ({ open }) => {
  it("mean the same as omitted options", async () => {
    const storage = (await open())();
    const agent = new AIAgent({
      promptExecutor: scriptedModel([]),
      llmModel: "m",
      strategy: graph,
      id: undefined,
      modelParameters: undefined,
      systemPrompt: undefined,
      tools: undefined,
      maxIterations: undefined,
    }).install(Persistence, {
      storage,
      triggers: undefined,
      retention: { completedDays: undefined, failedDays: undefined, maxCheckpoints: undefined },
      trimming: { toolOutputs: undefined, messages: undefined, summarize: undefined },
      inverseRetry: { attempts: undefined, delayMs: undefined },
    });
    const options = { agentId: undefined, runId: undefined, signal: undefined, history: undefined };
    expect(await agent.run("x", { ...options, unfinished: undefined })).toMatchObject({ output: "x" });
    const durable = persistence(agent).agent();
    const all = await durable.getCheckpoints({ nodeId: undefined, afterVersion: undefined, limit: undefined });
    expect(all.map(({ nodeId }) => nodeId)).toEqual(["node", "node", "finish"]);
    expect(all.at(-1)?.decisions).toEqual([
      { decision: "go", nodeId: "node", decidedAt: expect.any(String) as unknown },
    ]);
    expect(await durable.validateCheckpoint()).toMatchObject({ valid: true });
    await durable.rollbackToCheckpoint(all[1]?.checkpointId ?? "", { rollbackStrategy: undefined });
    expect(await agent.resume({ checkpointId: undefined, answers: undefined, ifStatus: undefined })).toMatchObject({
      output: "x",
    });
    const { failed } = await persistence(agent).prune({ agentId: undefined, now: undefined, policy: undefined });
    expect(failed).toEqual([]);
  });

  it("of a task mean the same as omitted options", async () => {
    const tasks = new TaskManager({ storage: (await open())(), clock: undefined });
    const undefinedOptions = { taskId: undefined, estimatedComplexity: undefined, reserves: undefined };
    const { taskId } = await tasks.create({ taskName: "t", inputRequest: 1, priority: undefined, ...undefinedOptions });
    await tasks.start(taskId);
    await tasks.complete(taskId, { output: 2, verificationResults: undefined });
    expect(await tasks.get(taskId)).toMatchObject({ data: { finalOutput: 2, verificationResults: [] } });
    const found = [];
    for await (const task of tasks.list({ status: undefined, limit: undefined, after: undefined }))
      found.push(task.taskId);
    expect(found).toEqual([taskId]);
  });
});
