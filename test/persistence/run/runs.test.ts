import { persistence, strategy, UnfinishedRunError, type AIAgent } from "agent-persistence";
import { describe, expect, it } from "vitest";
import { durableAgent, Fault, Stopped } from "../support/durableAgent.ts";
import { checkpointsOf, latestOf, nodesOf } from "../support/stored.ts";
import { logStorages, storages } from "../support/storages.ts";

/** Two nodes; the second fails as long as the fault is there. */
function twoNodes(fault: Fault, ran: string[] = []) {
  return strategy<string, string>("s", (g) => {
    const first = g.node("first", (input: string, context) => {
      ran.push(`first ${input}`);
      context.llm.append({ role: "user", content: input });
      return input;
    });
    const second = g.node("second", (input: string, context) => {
      fault.strike();
      ran.push(`second ${input}`);
      return context.llm.messages.map(({ content }) => (typeof content === "string" ? content : "")).join("+");
    });
    g.edge(g.start, first);
    g.edge(first, second);
    g.edge(second, g.finish);
  });
}

async function unfinished(agent: AIAgent<string, string>, includeFailed = false) {
  const runs = [];
  for await (const run of persistence(agent).unfinished({ includeFailed })) runs.push(run);
  return runs;
}

describe.each(storages)("$name: run and resume", (storage) => {
  async function stopped(runId = "r1") {
    const opened = await storage.open();
    const [fault, ran]: [Fault, string[]] = [new Fault(), []];
    const build = () => durableAgent(twoNodes(fault, ran), opened());
    await expect(build().run("in", { runId })).rejects.toBeInstanceOf(Stopped);
    return { opened, fault, ran, build };
  }

  it("a run checkpoints the input first, then each step with the next node", async () => {
    const { build, fault, ran } = await stopped();
    expect(await nodesOf(build())).toEqual(["first", "second"]);
    fault.repair();
    await build().resume();
    expect(await nodesOf(build())).toEqual(["first", "second", "finish"]);
    expect(
      (await checkpointsOf(build())).map(({ version, iteration, lastInput }) => [version, iteration, lastInput]),
    ).toEqual([
      [1, 0, "in"],
      [2, 1, "in"],
      [3, 2, "in"],
    ]);
    const [one, two, three] = await checkpointsOf(build());
    expect([one?.parentId, two?.parentId, three?.parentId]).toEqual([undefined, one?.checkpointId, two?.checkpointId]);
    expect(ran).toEqual(["first in", "second in"]);
  });

  it("run() resumes an unfinished run with an equal input and the same runId", async () => {
    for (const options of [{}, { runId: "r1" }]) {
      const { build, fault, ran } = await stopped();
      fault.repair();
      expect(await build().run("in", options)).toEqual({ status: "completed", runId: "r1", output: "in" });
      expect(ran).toEqual(["first in", "second in"]);
    }
  });

  it("run() with a finished runId and resume() return the recorded output", async () => {
    const { build, fault, ran } = await stopped();
    fault.repair();
    const first = await build().resume();
    expect(await build().run("in", { runId: "r1" })).toEqual(first);
    expect(await build().resume()).toEqual(first);
    expect(ran).toEqual(["first in", "second in"]);
  });

  it("run() refuses to start while another run is unfinished, and lists the options", async () => {
    const { build, fault } = await stopped();
    const before = await checkpointsOf(build());
    for (const options of [{}, { runId: "r2" }]) {
      const refused = await build()
        .run("other", options)
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(UnfinishedRunError);
      expect(refused).toMatchObject({
        code: "unfinished_run",
        runId: "r1",
        message: expect.stringContaining("finish_first") as string,
      });
    }
    expect(await checkpointsOf(build())).toEqual(before);
    fault.repair();
    expect(await build().resume()).toMatchObject({ runId: "r1", output: "in" });
  });

  it("run() finishes the old run first if requested", async () => {
    const { build, fault, ran } = await stopped();
    fault.repair();
    expect(await build().run("other", { runId: "r2", unfinished: "finish_first" })).toMatchObject({
      runId: "r2",
      output: "other",
    });
    expect(ran).toEqual(["first in", "second in", "first other", "second other"]);
    expect(await build().run("in", { runId: "r1" })).toMatchObject({ runId: "r1", output: "in" });
  });

  it("run() abandons the old run if requested, which can no longer be resumed", async () => {
    const { build, fault, ran } = await stopped();
    fault.repair();
    expect(await build().run("other", { runId: "r2", unfinished: "abandon" })).toMatchObject({ output: "other" });
    expect(ran).toEqual(["first in", "first other", "second other"]);
    await expect(build().run("in", { runId: "r1" })).rejects.toMatchObject({ code: "nothing_to_resume" });
    const cancelled = (await checkpointsOf(build())).filter(({ status }) => status === "cancelled");
    expect(cancelled).toMatchObject([{ runId: "r1" }]);
  });

  it("run() starts without history after a finished run, or keeps its messages", async () => {
    const { build, fault } = await stopped();
    fault.repair();
    await build().resume();
    const tombstone = await latestOf(build());
    expect(await build().run("two", { runId: "r2", history: "continue" })).toMatchObject({ output: "in+two" });
    expect(await build().run("three", { runId: "r3" })).toMatchObject({ output: "three" });
    const begun = (await checkpointsOf(build())).find(({ runId }) => runId === "r2");
    expect(begun).toMatchObject({
      parentId: tombstone.checkpointId,
      iteration: 0,
      messageHistory: [{ content: "in" }],
    });
  });

  it("resume() rejects with nothing_to_resume for an unknown agent", async () => {
    const opened = await storage.open();
    const agent = durableAgent(twoNodes(new Fault()), opened());
    await expect(agent.resume()).rejects.toMatchObject({ code: "nothing_to_resume" });
    await expect(agent.resume({ checkpointId: "x" })).rejects.toMatchObject({ code: "checkpoint_not_found" });
  });

  it("run() treats inputs with keys in another order as equal", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const graph = strategy<{ a: number; b: number }, string>("s", (g) => {
      const only = g.node("only", ({ a, b }: { a: number; b: number }) => {
        fault.strike();
        return `${a}${b}`;
      });
      g.edge(g.start, only);
      g.edge(only, g.finish);
    });
    const build = () => durableAgent(graph as never, opened()) as unknown as AIAgent<{ a: number; b: number }, string>;
    await expect(build().run({ a: 1, b: 2 })).rejects.toBeInstanceOf(Stopped);
    fault.repair();
    expect(await build().run({ b: 2, a: 1 })).toMatchObject({ output: "12" });
  });
});

describe.each(storages)("$name: edges", (storage) => {
  it("are evaluated once, unless they failed", async () => {
    const opened = await storage.open();
    const [edge, fault] = [new Fault(), new Fault()];
    let evaluated = 0;
    const ran: string[] = [];
    const graph = strategy<string, string>("s", (g) => {
      const first = g.node("first", (input: string) => {
        ran.push("first");
        return `${input}!`;
      });
      const second = g.node("second", (input: string) => {
        fault.strike();
        return input;
      });
      const passes = () => {
        evaluated++;
        edge.strike();
        return true;
      };
      g.edge(g.start, first);
      g.edge(first, second, { when: passes });
      g.edge(second, g.finish);
    });
    const build = () => durableAgent(graph, opened());
    await expect(build().run("in")).rejects.toBeInstanceOf(Stopped);
    expect(await latestOf(build())).toMatchObject({ nodeId: "first", unresolved: true, lastInput: "in!" });
    edge.repair();
    await expect(build().resume()).rejects.toBeInstanceOf(Stopped);
    expect(await latestOf(build())).toMatchObject({ nodeId: "second", lastInput: "in!" });
    fault.repair();
    expect(await build().resume()).toMatchObject({ output: "in!" });
    expect([evaluated, ran]).toEqual([2, ["first"]]);
  });

  it("of another strategy are refused by name without changes", async () => {
    const opened = await storage.open();
    await expect(durableAgent(twoNodes(new Fault()), opened()).run("in")).rejects.toBeInstanceOf(Stopped);
    const other = strategy<string, string>("s", (g) => {
      const first = g.node("first", (input: string) => input);
      const third = g.node("third", (input: string) => input);
      g.edge(g.start, first);
      g.edge(first, third);
      g.edge(third, g.finish);
    });
    const changed = durableAgent(other, opened());
    const before = await checkpointsOf(changed);
    const refused = await changed.resume().catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "strategy_changed" });
    const { differences } = refused as { readonly differences: readonly string[] };
    expect(differences.join()).toContain(storage.name === "three methods" ? "third" : 'node "second" is gone');
    expect(await checkpointsOf(changed)).toEqual(before);
  });
});

describe.each(logStorages)("$name: unfinished()", (storage) => {
  it("lists interrupted runs, runs moved from outside, and failed runs if requested", async () => {
    const opened = await storage.open();
    const fault = new Fault();
    const build = () => durableAgent(twoNodes(fault), opened());
    await expect(build().run("in", { agentId: "failed", runId: "f" })).rejects.toBeInstanceOf(Stopped);
    const leaving = new AbortController();
    const aborting = strategy<string, string>("s", (g) => {
      const first = g.node("first", (input: string) => {
        leaving.abort(new Stopped());
        return input;
      });
      const second = g.node("second", (input: string) => input);
      g.edge(g.start, first);
      g.edge(first, second);
      g.edge(second, g.finish);
    });
    const aborted = durableAgent(aborting, opened()).run("in", {
      agentId: "aborted",
      runId: "i",
      signal: leaving.signal,
    });
    await expect(aborted).rejects.toBeInstanceOf(Stopped);
    expect(await unfinished(build())).toEqual([{ agentId: "aborted", runId: "i", status: "interrupted" }]);
    expect(await unfinished(build(), true)).toHaveLength(2);
    await persistence(build()).agent("failed").rollbackToLatestCheckpoint();
    expect(await unfinished(build())).toContainEqual({ agentId: "failed", runId: "f", status: "paused" });
    await expect(build().resume({ agentId: "failed" })).rejects.toBeInstanceOf(Stopped);
    expect(await unfinished(build(), true)).toContainEqual({ agentId: "failed", runId: "f", status: "failed" });
    fault.repair();
    await build().resume({ agentId: "failed" });
    expect(await unfinished(build(), true)).toHaveLength(1);
  });

  it("does not list a run that was refused before its first save", async () => {
    const opened = await storage.open();
    const graph = strategy<string, string>("s", (g) => {
      const only = g.node("only", (make: () => string) => make());
      g.edge(g.start, only, { map: (text) => () => text });
      g.edge(only, g.finish);
    });
    const agent = durableAgent(graph, opened());
    await expect(agent.run("in")).rejects.toMatchObject({
      code: "not_serializable",
      subject: 'the input of node "only"',
    });
    expect(await unfinished(agent, true)).toEqual([]);
    await expect(agent.resume()).rejects.toMatchObject({ code: "nothing_to_resume" });
  });
});
