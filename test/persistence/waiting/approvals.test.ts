import {
  AIAgent,
  InMemoryPersistenceStorageProvider,
  NoPersistenceStorageProvider,
  persistence,
  strategy,
  tool,
  type AgentContext,
  type AgentFeature,
  type PersistenceEvent,
  type RunResult,
  type ToolRejectedError,
} from "agent-persistence";
import { crashAfter, scriptedModel, SimulatedClock } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { idOf, requestsOf } from "../support/asking.ts";
import { durableAgent } from "../support/durableAgent.ts";
import { recordsOf } from "../support/stored.ts";
import { logStorages } from "../support/storages.ts";

const amount = z.object({ cents: z.int() });

/** A tool that moves money, and asks first where it is much. */
function bank() {
  const paid: string[] = [];
  const judged: number[] = [];
  const refund = tool({
    name: "refund",
    description: "",
    inputSchema: amount,
    effect: "irreversible",
    needsApproval: ({ cents }) => {
      judged.push(cents);
      return cents > 1_000 && { prompt: `Refund ${cents} cents?` };
    },
    execute: ({ cents }, { toolCallId }) => {
      paid.push(`${cents} ${toolCallId}`);
      return `refunded ${cents}`;
    },
  });
  return { refund, paid, judged };
}

const one = (body: (input: string, context: AgentContext) => Promise<string>) =>
  strategy<string, string>("one", (graph) => {
    const node = graph.node("node", body);
    graph.edge(graph.start, node);
    graph.edge(node, graph.finish);
  });

const approvalOf = (result: RunResult<unknown>) => {
  const [request] = requestsOf(result);
  if (request?.kind !== "approval") throw new Error("The run waits for no approval.");
  return request;
};

describe.each(logStorages)("approvals, $name", ({ open }) => {
  it("allow the call, while other calls of the message continue", async () => {
    const opened = await open();
    const { refund, paid, judged } = bank();
    const turns = [{ toolCalls: [5_000, 10].map((cents) => ({ toolName: "refund", input: { cents } })) }, "done"];
    const graph = one(async (input, context) => {
      context.llm.append({ role: "user", content: input });
      const answer = await context.llm.request();
      const results = await context.tools.execute(answer);
      return JSON.stringify(results.content.map((part) => part.type === "tool-result" && part.output));
    });
    const opens: string[] = [];
    const onEvent = (event: PersistenceEvent) => {
      if (event.type === "request_opened") opens.push(`${event.requestId} ${event.waitingFor}`);
    };
    const agent = () => durableAgent(graph, opened(), { tools: [refund], turns, onEvent });
    const asked = approvalOf(await agent().run("go"));
    expect(asked).toMatchObject({
      prompt: "Refund 5000 cents?",
      toolName: "refund",
      input: { cents: 5_000 },
      waitingFor: "human_approval",
      digest: expect.stringMatching(/^[\w-]{43}$/) as string,
    });
    expect(paid).toHaveLength(1);
    expect(await persistence(agent()).agent().getRequests()).toEqual([asked]);
    expect(approvalOf(await agent().resume())).toEqual(asked);
    const durable = persistence(agent()).agent();
    await expect(durable.answer(asked.requestId, { approved: true }, { digest: "other" })).rejects.toMatchObject({
      code: "approval_changed",
      digest: asked.digest,
    });
    await expect(durable.answer(asked.requestId, "yes")).rejects.toMatchObject({ code: "invalid_input" });
    await expect(durable.answer(asked.requestId, true)).rejects.toThrow("expected { approved: true }");
    await durable.answer(asked.requestId, { approved: true }, { digest: asked.digest, by: "ann" });
    expect((await recordsOf(opened())).findLast(({ kind }) => kind === "reply")).toMatchObject({ by: "ann" });
    expect(await agent().resume()).toMatchObject({ output: '["refunded 5000","refunded 10"]' });
    expect(paid).toHaveLength(2);
    expect(opens).toEqual([`${asked.requestId} human_approval`]);
    // The call that waits was judged once, the other one when it was made.
    expect(judged.toSorted((a, b) => a - b)).toEqual([10, 5_000]);
  });

  it.each<
    [string, (durable: ReturnType<ReturnType<typeof persistence>["agent"]>, id: string) => Promise<void>, string]
  >([
    ["rejected", (durable, id) => durable.reject(id, "too much", { by: "bob" }), "too much"],
    ["answered with no", (durable, id) => durable.answer(id, { approved: false, reason: "no" }, { by: "bob" }), "no"],
    [
      "answered with no, without a reason",
      (durable, id) => durable.answer(id, { approved: false }, { by: "bob" }),
      "it was not approved",
    ],
  ])(
    "for a call that is %s prevent the call with an error that the node may catch, each time",
    async (_name, settle, reason) => {
      const opened = await open();
      const { refund, paid } = bank();
      const seen: string[] = [];
      const graph = one(async (_input, context) => {
        const error = await context.tools
          .call(refund, { cents: 5_000 })
          .catch((each: unknown) => each as ToolRejectedError);
        if (typeof error === "string") return error;
        seen.push(`${error.code}: ${error.reason}, by ${error.by}`);
        await context.requestInput({ prompt: "go on?", schema: z.boolean() });
        return "done";
      });
      const agent = () => durableAgent(graph, opened(), { tools: [refund] });
      await settle(persistence(agent()).agent(), idOf(await agent().run("go")));
      const next = await agent().resume();
      expect(requestsOf(next)).toMatchObject([{ kind: "input", prompt: "go on?" }]);
      expect(requestsOf(next)[0]).not.toHaveProperty("problems");
      expect(await agent().resume({ answers: { [idOf(next)]: true } })).toMatchObject({ output: "done" });
      const said = `tool_rejected: ${reason}, by bob`;
      expect([seen, paid]).toEqual([[said, said], []]);
    },
  );

  it("are not requested for a call that changes after it was made, and the run stops", async () => {
    const opened = await open();
    const { refund, paid } = bank();
    let cents = 2_000;
    const graph = one(async (_input, context) => {
      const said = await context.tools.call(refund, { cents }).catch(() => "caught");
      await context.requestInput({ prompt: "go on?", schema: z.boolean() });
      return said;
    });
    const agent = () => durableAgent(graph, opened(), { tools: [refund] });
    const durable = persistence(agent()).agent();
    await durable.answer(idOf(await agent().run("go")), { approved: true });
    await durable.answer(idOf(await agent().resume()), true);
    cents = 9_000;
    await expect(agent().resume()).rejects.toMatchObject({ code: "replay_diverged" });
    expect(paid).toHaveLength(1);
  });

  it("that fail the run by a rejection fail it again, until a rollback repeats the request", async () => {
    const opened = await open();
    const { refund, paid } = bank();
    const graph = one((_input, context) => context.tools.call(refund, { cents: 5_000 }));
    const agent = () => durableAgent(graph, opened(), { tools: [refund] });
    const durable = persistence(agent()).agent();
    await durable.reject(idOf(await agent().run("go")), "too much");
    for (let tries = 0; tries < 2; tries++)
      await expect(agent().resume()).rejects.toMatchObject({
        code: "tool_rejected",
        reason: "too much",
        message:
          'The call of tool "refund" was rejected and not made: "too much". Catch this error in the node. ' +
          "Resuming fails with the same error. To repeat the request, roll back to a checkpoint before the call.",
      });
    await durable.rollbackToLatestCheckpoint();
    await durable.answer(idOf(await agent().resume()), { approved: true });
    expect(await agent().resume()).toMatchObject({ output: "refunded 5000" });
    expect(paid).toHaveLength(1);
  });

  it("are requested again for a call that changes after it was approved", async () => {
    const opened = await open();
    const { refund, paid } = bank();
    let cents = 2_000;
    const graph = one((_input, context) => context.tools.call(refund, { cents }));
    const agent = () => durableAgent(graph, opened(), { tools: [refund] });
    const first = approvalOf(await agent().run("go"));
    await persistence(agent()).agent().answer(first.requestId, { approved: true });
    cents = 9_000;
    const again = approvalOf(await agent().resume());
    expect(again).toMatchObject({ prompt: "Refund 9000 cents?", problems: [{ path: "" }] });
    expect([again.digest === first.digest, paid]).toEqual([false, []]);
    await persistence(agent()).agent().reject(again.requestId, "too much");
    cents = 8_000;
    expect(approvalOf(await agent().resume())).toMatchObject({
      prompt: "Refund 8000 cents?",
      problems: [{ path: "" }],
    });
    expect(paid).toEqual([]);
  });

  it("count as a rejection if they expire", async () => {
    const opened = await open();
    const wipe = tool({
      name: "wipe",
      description: "",
      inputSchema: z.object({}),
      needsApproval: () => ({ expiresAt: new Date("2026-01-01T00:00:10Z") }),
      execute: () => "wiped",
    });
    const graph = one((_input, context) =>
      context.tools.call(wipe, {}).catch((error: unknown) => (error as ToolRejectedError).reason),
    );
    const clock = new SimulatedClock(Date.parse("2026-01-01T00:00:00Z"));
    const agent = () => durableAgent(graph, opened(), { tools: [wipe], clock });
    expect(approvalOf(await agent().run("go"))).toMatchObject({ prompt: 'Approve the call of tool "wipe"?' });
    clock.advance(20_000);
    expect(await agent().resume()).toMatchObject({
      output: expect.stringContaining("nobody approved it before") as string,
    });
  });

  it("stay expired if the error was caught, even if the run fails at another request", async () => {
    const opened = await open();
    const expiresAt = new Date("2026-01-01T00:00:10Z");
    const wipe = tool({
      name: "wipe",
      description: "",
      inputSchema: z.object({}),
      needsApproval: () => ({ expiresAt }),
      execute: () => "wiped",
    });
    const graph = one(async (_input, context) => {
      const said = context.tools.call(wipe, {}).catch((error: unknown) => (error as ToolRejectedError).code);
      await context.requestInput({ prompt: "go on?", schema: z.boolean(), expiresAt: new Date(expiresAt) });
      return said;
    });
    const clock = new SimulatedClock(Date.parse("2026-01-01T00:00:00Z"));
    const agent = () => durableAgent(graph, opened(), { tools: [wipe], clock });
    expect(requestsOf(await agent().run("go"))).toHaveLength(2);
    clock.advance(20_000);
    await expect(agent().resume()).rejects.toMatchObject({ code: "request_expired" });
    expiresAt.setFullYear(2027);
    const asked = requestsOf(await agent().resume());
    expect(asked).toMatchObject([{ kind: "input", prompt: "go on?" }]);
    expect(await agent().resume({ answers: { [asked[0]?.requestId ?? ""]: true } })).toMatchObject({
      output: "tool_rejected",
    });
  });

  it.each<[string, unknown, string]>([
    ["that are negative", { approved: false, reason: "policy" }, "tool_rejected"],
    ["that are invalid", "yes", "invalid_input"],
  ])("by another feature %s make no call", async (_name, answer, code) => {
    const opened = await open();
    const { refund, paid } = bank();
    const graph = one((_input, context) => context.tools.call(refund, { cents: 5_000 }));
    const judge: AgentFeature<object, object> = {
      key: "judge",
      install(pipeline) {
        pipeline.aroundInputRequest((event, next) => (event.approval ? Promise.resolve(answer) : next(event)));
        return {};
      },
    };
    const agent = durableAgent(graph, opened(), { tools: [refund] }).install(judge, {});
    await expect(agent.run("go")).rejects.toMatchObject({ code });
    expect(paid).toEqual([]);
  });

  it("report a rejection and its reason to the model", async () => {
    const opened = await open();
    const { refund } = bank();
    const turns = [{ toolCalls: [{ toolName: "refund", input: { cents: 5_000 } }] }, "done"];
    const graph = one(async (input, context) => {
      context.llm.append({ role: "user", content: input });
      const results = await context.tools.execute(await context.llm.request());
      return JSON.stringify(results.content.map((part) => part.type === "tool-result" && [part.isError, part.output]));
    });
    const agent = () => durableAgent(graph, opened(), { tools: [refund], turns });
    await persistence(agent())
      .agent()
      .reject(idOf(await agent().run("go")), "too much");
    expect(await agent().resume()).toMatchObject({ output: '[[true,"The call was rejected: too much"]]' });
  });

  it("and requests for input give advice in errors about rejections and digests", async () => {
    const opened = await open();
    const graph = one((_input, context) => context.requestInput({ prompt: "which?", schema: z.string() }));
    const agent = () => durableAgent(graph, opened());
    const requestId = idOf(await agent().run("go"));
    const digested = persistence(agent()).agent().answer(requestId, "x", { digest: "d" });
    await expect(digested).rejects.toMatchObject({
      code: "approval_changed",
      message: `Request "${requestId}" of agent "a" is a request for input and has no digest. Omit the digest.`,
    });
    await persistence(agent()).agent().reject(requestId, "not ours");
    await expect(agent().resume()).rejects.toMatchObject({
      code: "request_rejected",
      reason: "not ours",
      message:
        `Request "${requestId}" of agent "a" was rejected: "not ours". Catch this error in the node. ` +
        "Resuming fails with the same error. To repeat the request, roll back to a checkpoint before it.",
    });
  });

  it("and requests for input fail in their node if they are rejected", async () => {
    const opened = await open();
    const graph = one((_input, context) =>
      context
        .requestInput({ prompt: "which?", schema: z.string() })
        .catch((error: unknown) => `${(error as { code: string }).code} by ${(error as { by: string }).by}`),
    );
    const agent = () => durableAgent(graph, opened());
    await persistence(agent())
      .agent()
      .reject(idOf(await agent().run("go")), "not ours to say", { by: "ann" });
    expect(await agent().resume()).toMatchObject({ output: "request_rejected by ann" });
  });

  it("of all agents are listed, and answered or rejected by id alone", async () => {
    const opened = await open();
    const { refund, paid } = bank();
    const graph = one(async (input, context) => {
      if (input === "ask") return context.requestInput({ prompt: "which?", schema: z.string() });
      return context.tools.call(refund, { cents: Number(input) }).catch((error: unknown) => (error as Error).message);
    });
    const agent = durableAgent(graph, opened(), { tools: [refund] });
    for (const [agentId, input] of Object.entries({ x: "5000", y: "6000", z: "ask", done: "1" }))
      await agent.run(input, { agentId });
    const feature = persistence(agent);
    const listed: { agentId: string; kind: string; requestId: string; askedAt: string }[] = [];
    for await (const { agentId, kind, requestId, askedAt } of feature.listRequests())
      listed.push({ agentId, kind, requestId, askedAt });
    expect(listed.map(({ agentId, kind }) => `${agentId} ${kind}`).toSorted()).toEqual([
      "x approval",
      "y approval",
      "z input",
    ]);
    const approvals: string[] = [];
    for await (const { agentId } of feature.listRequests({ waitingFor: "human_approval" })) approvals.push(agentId);
    expect(approvals.toSorted()).toEqual(["x", "y"]);
    const idOfAgent = (name: string) => listed.find(({ agentId }) => agentId === name)?.requestId ?? "";
    await feature.answer(idOfAgent("x"), { approved: true });
    await feature.reject(idOfAgent("y"), "too much");
    await expect(feature.answer("3fa9c2d17b40", { approved: true })).rejects.toMatchObject({
      code: "request_not_found",
      message: expect.stringContaining("listRequests()") as string,
    });
    expect(await agent.resume({ agentId: "x" })).toMatchObject({ output: "refunded 5000" });
    await expect(feature.answer(idOfAgent("x"), { approved: true })).rejects.toMatchObject({
      code: "request_not_found",
      message: expect.stringContaining("It was answered, or") as string,
    });
    expect(await agent.resume({ agentId: "y" })).toMatchObject({
      output: expect.stringContaining("too much") as string,
    });
    expect(paid).toHaveLength(2);
  });

  it("allow one call, however often its process ends", async () => {
    for (let saves = 0; saves < 6; saves++) {
      const opened = await open();
      const { refund, paid } = bank();
      const graph = one(async (_input, context) => {
        const said = await context.tools.call(refund, { cents: 5_000 });
        await context.requestInput({ prompt: "go on?", schema: z.boolean() });
        return said;
      });
      const agent = () => durableAgent(graph, opened(), { tools: [refund], onToolCallInDoubt: "retry" });
      await persistence(agent())
        .agent()
        .answer(idOf(await agent().run("go")), { approved: true });
      const crashing = durableAgent(graph, crashAfter(opened(), saves), { tools: [refund] });
      await crashing.resume().catch(() => undefined);
      const asked = requestsOf(await agent().resume());
      expect(asked).toMatchObject([{ kind: "input", prompt: "go on?" }]);
      expect(new Set(paid).size).toBe(1);
    }
  });
});

describe("an approval that cannot be requested", () => {
  const graph = (refund: ReturnType<typeof bank>["refund"]) =>
    one((input, context) => context.tools.call(refund, { cents: Number(input) }));

  it("fails a run without Persistence if the call needs approval", async () => {
    const { refund, paid } = bank();
    const agent = new AIAgent({
      llmModel: "m",
      promptExecutor: scriptedModel([]),
      tools: [refund],
      strategy: graph(refund),
    });
    expect(await agent.run("10")).toMatchObject({ output: "refunded 10" });
    await expect(agent.run("5000")).rejects.toMatchObject({ code: "feature_not_installed" });
    expect(paid).toHaveLength(1);
  });

  it("fails a run on a storage that keeps no requests", async () => {
    const { refund, paid } = bank();
    const agent = durableAgent(graph(refund), new NoPersistenceStorageProvider(), { tools: [refund] });
    await expect(agent.run("5000")).rejects.toMatchObject({
      code: "waiting_not_supported",
      toolName: "refund",
      message: expect.stringContaining('an approval for tool "refund"') as string,
    });
    expect(paid).toEqual([]);
  });

  it.each<[string, () => unknown, object]>([
    [
      "is invalid",
      () => "yes",
      { code: "invalid_input", message: expect.stringContaining("expected true, false, or") },
    ],
    ["throws", () => Promise.reject(new RangeError("no ledger")), { message: "no ledger" }],
  ])(
    "fails a run whose tool has a needsApproval verdict that %s, even if the node catches errors",
    async (_name, judge, error) => {
      const odd = tool({
        name: "odd",
        description: "",
        inputSchema: amount,
        needsApproval: judge as never,
        execute: () => "done",
      });
      const graph = one((_input, context) => context.tools.call(odd, { cents: 1 }).catch(() => "caught"));
      const agent = durableAgent(graph, new InMemoryPersistenceStorageProvider(), { tools: [odd] });
      await expect(agent.run("go")).rejects.toMatchObject(error);
    },
  );
});
