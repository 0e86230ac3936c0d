import { Agent, type Computer, computerTool, tool } from "@openai/agents-core";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { DurableRunner } from "../../../src/openai-agents.ts";
import { calls, FakeModel, resultsIn, says } from "./fakeModel.ts";

function fakeComputer(): Computer & { readonly initRun: ReturnType<typeof vi.fn> } {
  const nothing = vi.fn<() => Promise<void>>(async () => {});
  return {
    environment: "browser",
    dimensions: [1, 1],
    initRun: vi.fn<() => Promise<void>>(async () => {}),
    screenshot: async () => "",
    click: nothing,
    doubleClick: nothing,
    drag: nothing,
    keypress: nothing,
    move: nothing,
    scroll: nothing,
    type: nothing,
    wait: nothing,
  };
}

/** A desk with a computer, which pays after an approval. */
function world(computer: Parameters<typeof computerTool>[0]["computer"]) {
  const model = new FakeModel((items) =>
    resultsIn(items).length > 0 ? [says("paid")] : [calls("pay", { to: "Ann" }, "call_1")],
  );
  const pay = tool({
    name: "pay",
    description: "Pays.",
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    execute: () => "done",
  });
  const agent = new Agent({ name: "desk", model, tools: [computerTool({ computer }), pay] });
  return { agent, runner: new DurableRunner({ storage: new InMemoryPersistenceStorageProvider() }) };
}

describe("A computer of a durable run", () => {
  it("is created once, although the run waits for an approval, and is disposed at the end", async () => {
    const computers: Computer[] = [];
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
    expect((computers[0] as ReturnType<typeof fakeComputer>).initRun).toHaveBeenCalledTimes(1);
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
