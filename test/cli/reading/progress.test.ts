import { AIAgent, Persistence, strategy } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import { scriptedModel } from "agent-persistence/testing";
import { describe, expect, it } from "vitest";
import { Desk } from "../support/Desk.ts";
import { itemsOf } from "../support/TestTerminal.ts";

interface Listed {
  readonly checkpoints: number;
  readonly updatedAt: string;
}

/** An agent with three nodes. The last one runs `atLast`. */
function workerOn({ storage }: Desk, atLast: () => Promise<void>) {
  const steps = strategy<string, string>("steps", (graph) => {
    const first = graph.node("first", async (input: string) => input);
    const second = graph.node("second", async (input: string) => input);
    const last = graph.node("last", async (input: string) => {
      await atLast();
      return input;
    });
    graph.edge(graph.start, first);
    graph.edge(first, second);
    graph.edge(second, last);
    graph.edge(last, graph.finish);
  });
  const agent = new AIAgent({ id: "worker", promptExecutor: scriptedModel([]), llmModel: "none", strategy: steps });
  return agent.install(Persistence, { storage });
}

describe("list", () => {
  it("shows the current checkpoints of a running agent and the time of the newest one", async () => {
    await using desk = await Desk.open();
    let [reach, finish] = [() => {}, () => {}];
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const run = workerOn(desk, () => (reach(), finished)).run("go");
    await reached;
    const [listed] = itemsOf<Listed>(await desk.command(["list", "--json"]));
    const view = await inspect(desk.storage).agent("worker");
    finish();
    await run;
    expect(listed).toMatchObject({ status: "in_progress", checkpoints: 3, updatedAt: view?.head?.at });
    expect(view?.counts.checkpoints).toBe(3);
  });

  it("shows the current checkpoints of a stuck agent", async () => {
    await using desk = await Desk.open();
    await desk.crashes("order-1");
    const view = await inspect(desk.storage).agent("order-1");
    const [listed] = itemsOf<Listed>(await desk.command(["list", "--json"]));
    expect(listed).toMatchObject({ checkpoints: view?.counts.checkpoints, updatedAt: view?.head?.at });
  });

  it("shows the start of a long error after its class", async () => {
    await using desk = await Desk.open();
    const error = new RangeError(`The seat ${"is taken and ".repeat(20)}gone. Choose another one.`);
    await expect(workerOn(desk, () => Promise.reject(error)).run("go")).rejects.toThrow("The seat");
    expect((await desk.command(["list"])).out).toContain("RangeError: The seat is taken and is taken");
  });
});

describe("show", () => {
  it("names no next node after the end of a run", async () => {
    await using desk = await Desk.open();
    await desk.completes("order-1");
    const agent = (await desk.command(["show", "order-1"])).out;
    expect(agent).toMatch(/^last +checkpoint 3-6$/m);
    expect(agent).not.toMatch(/^next/m);
    const checkpoint = (await desk.command(["show", "order-1", "3-6"])).out;
    expect(checkpoint).toMatch(/^status +completed\n[^]*^output +All is done\.$/m);
    expect(checkpoint).not.toMatch(/^(next|input)/m);
  });
});

describe("rollback --preview", () => {
  it("says that a call in doubt is settled or executed before it is reverted", async () => {
    await using desk = await Desk.open();
    await desk.crashes("order-1");
    const preview = async () => (await desk.command(["rollback", "order-1", "1-1", "--preview"])).out;
    const shown = await preview();
    expect(shown).toMatch(/Reverted, in this order\n.*\n.*book \(in doubt: settled first\)/);
    const [, call = ""] = /\n(\S+) +book/.exec(shown) ?? [];
    expect(await desk.command(["settle", "order-1", call, "--retry", "--yes"])).toMatchObject({ code: 0 });
    expect(await preview()).toMatch(/Reverted, in this order\n.*\n.*book \(in doubt: executed again first\)/);
  });
});
