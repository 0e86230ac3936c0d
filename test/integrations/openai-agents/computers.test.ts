import { Agent, type AgentOutputItem, type Computer, computerTool, tool } from "@openai/agents-core";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { DurableRunner } from "../../../src/openai-agents.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

function fakeComputer() {
  const made: string[] = [];
  const does = (name: string) => async () => void made.push(name);
  return {
    made,
    environment: "browser" as const,
    initRun: vi.fn<() => Promise<void>>(async () => {}),
    screenshot: async () => `image-${made.push("screenshot")}`,
    click: does("click"),
    doubleClick: does("doubleClick"),
    drag: does("drag"),
    keypress: does("keypress"),
    move: does("move"),
    scroll: does("scroll"),
    type: does("type"),
    wait: does("wait"),
  } satisfies Computer & { readonly made: string[] };
}

const click: AgentOutputItem = {
  type: "computer_call",
  callId: "click_1",
  status: "completed",
  action: { type: "click", x: 1, y: 2, button: "left" },
};

/** A desk that clicks, and then pays after an approval. */
function world(computer: Parameters<typeof computerTool>[0]["computer"]) {
  const model = new FakeModel((items) => {
    if (resultsIn(items).length > 0) return [says("paid")];
    const hasClicked = items.some(({ type }) => type === "computer_call_result");
    return hasClicked ? [calls("pay", { to: "Ann" }, "call_1")] : [click];
  });
  const pay = tool({
    name: "pay",
    description: "Pays.",
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    execute: () => "done",
  });
  const agent = new Agent({ name: "desk", model, tools: [computerTool({ computer }), pay] });
  const storage = new InMemoryPersistenceStorageProvider();
  return { agent, model, runner: new DurableRunner({ storage }), other: new DurableRunner({ storage }) };
}

describe("A computer of a durable run", () => {
  it("is created once, although the run waits for an approval, and is disposed at the end", async () => {
    const computers: ReturnType<typeof fakeComputer>[] = [];
    const create = vi.fn<() => Promise<Computer>>(async () => (computers.push(fakeComputer()), computers.at(-1)!));
    const dispose = vi.fn<(use: unknown) => Promise<void>>(async () => {});
    const { agent, runner } = world({ create, dispose });
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    expect(dispose).not.toHaveBeenCalled();
    for (const item of first.interruptions) first.state.approve(item);
    const result = await runner.run(agent, first.state, { agentId: "a" });
    expect(result.finalOutput).toBe("paid");
    expect(create).toHaveBeenCalledTimes(1);
    expect(dispose.mock.calls).toEqual([[{ runContext: result.runContext, computer: computers[0] }]]);
    expect(computers[0]?.initRun).toHaveBeenCalledTimes(1);
  });

  it("does not repeat its actions when the run resumes, and the model gets their first images", async () => {
    const computer = fakeComputer();
    const { agent, model, runner } = world(() => computer);
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    for (const item of first.interruptions) first.state.approve(item);
    await runner.run(agent, first.state, { agentId: "a" });
    expect(computer.made).toEqual(["click", "screenshot"]);
    const images = model.requests.map(({ input }) => /image-[0-9]+/.exec(JSON.stringify(input))?.[0]);
    expect(images).toEqual([undefined, "image-2", "image-2"]);
  });

  it("repeats its actions in another process, on another computer", async () => {
    const computers: ReturnType<typeof fakeComputer>[] = [];
    const { agent, runner, other } = world(() => (computers.push(fakeComputer()), computers.at(-1)!));
    const first = await runner.run(agent, "Go.", { agentId: "a" });
    for (const item of first.interruptions) first.state.approve(item);
    await other.run(agent, first.state, { agentId: "a" });
    expect(computers.map(({ made }) => made)).toEqual([
      ["click", "screenshot"],
      ["click", "screenshot"],
    ]);
  });

  it("is initialized once per run if all runs share it", async () => {
    const computer = fakeComputer();
    const { agent, runner } = world(computer);
    for (const agentId of ["a", "b"]) {
      const first = await runner.run(agent, "Go.", { agentId });
      for (const item of first.interruptions) first.state.approve(item);
      await runner.run(agent, first.state, { agentId });
    }
    expect(computer.initRun).toHaveBeenCalledTimes(2);
  });

  it("is disposed when its agent starts another run instead of resuming", async () => {
    const create = vi.fn<() => Promise<Computer>>(async () => fakeComputer());
    const dispose = vi.fn<(use: unknown) => Promise<void>>(async () => {});
    const { agent, runner } = world({ create, dispose });
    await runner.run(agent, "Go.", { agentId: "a" });
    await runner.run(agent, "Go again.", { agentId: "a", unfinished: "abandon" });
    expect(create).toHaveBeenCalledTimes(2);
    const { value } = create.mock.settledResults[0]!;
    expect(dispose.mock.calls).toEqual([[{ runContext: expect.anything(), computer: value }]]);
  });

  it("is created again if its creation has failed", async () => {
    const create = vi
      .fn<() => Promise<Computer>>(async () => fakeComputer())
      .mockRejectedValueOnce(new Error("no browser"));
    const { agent, runner } = world({ create });
    await expect(runner.run(agent, "Go.", { agentId: "a" })).rejects.toThrow("no browser");
    const { interruptions } = await runner.run(agent, "Go.", { agentId: "a" });
    expect(interruptions).toHaveLength(1);
  });
});
