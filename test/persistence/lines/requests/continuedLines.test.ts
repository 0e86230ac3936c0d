import {
  type AgentContext,
  InMemoryPersistenceStorageProvider,
  persistence,
  strategy,
  type Strategy,
} from "agent-persistence";
import { expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import type { RunRecorder } from "../../../../src/persistence/saving/RunRecorder.ts";
import { recorders } from "../../../../src/persistence/saving/recorders.ts";
import { gate } from "../../../agent/gate.ts";
import { durableAgent } from "../../support/durableAgent.ts";
import { recordsOf } from "../../support/stored.ts";

const schema = z.string();

/** A branch of two nodes, while another branch works. */
function besideWork(
  work: Promise<void>,
  first: (context: AgentContext) => Promise<string>,
  second: (input: string, context: AgentContext) => Promise<string> = async (input) => input,
): Strategy<string, string> {
  return strategy<string, string>("beside", (graph) => {
    const branch = graph.subgraph<string, string>("branch", (inner) => {
      const one = inner.node("one", (_: string, context) => first(context));
      const two = inner.node("two", second);
      inner.edge(inner.start, one);
      inner.edge(one, two);
      inner.edge(two, inner.finish);
    });
    const works = graph.node("works", (input: string) => work.then(() => input));
    const both = graph.parallel("both", { branch, works }, ({ branch: output }) => output);
    graph.edge(graph.start, both);
    graph.edge(both, graph.finish);
  });
}

/** Runs an agent, and answers each request of its branch. */
async function answering(graph: Strategy<string, string>, work: { readonly open: () => void }, answers: number) {
  const storage = new InMemoryPersistenceStorageProvider();
  const agent = durableAgent(graph, storage, { maxIterations: 1_000 });
  const running = agent.run("go");
  const durable = persistence(agent).agent("a");
  for (let number = 1; number <= answers; number++) {
    const open = await vi.waitUntil(async () => (await durable.getRequests())[0], { interval: 1 });
    await durable.answer(open.requestId, `${number}`);
  }
  return { storage, running, end: work.open };
}

/** Returns the number of recorders that the recorder of the main line keeps. */
function watchRecorders(): () => number {
  const added = vi.spyOn(recorders, "add");
  onTestFinished(() => added.mockRestore());
  return () => {
    const calls: readonly (readonly RunRecorder[])[] = added.mock.calls;
    return calls.flat().find(({ parent }) => !parent)?.nested.size ?? 0;
  };
}

it("a branch that continues after each of many answers has one recorder", async () => {
  const work = gate();
  const [open, kept] = [2, watchRecorders()];
  const asked = gate();
  const graph = besideWork(work.opened, async (context) => {
    let output = "";
    for (let number = 1; number <= 10; number++) output = await context.requestInput({ prompt: `${number}?`, schema });
    asked.open();
    await work.opened;
    return output;
  });
  const { running, end } = await answering(graph, work, 10);
  await asked.opened;
  expect(kept()).toBe(open);
  end();
  expect(await running).toMatchObject({ output: "10" });
});

it("a branch that moves many times has one recorder", async () => {
  const work = gate();
  const [open, kept] = [2, watchRecorders()];
  const moved = gate();
  let moves = 0;
  const graph = besideWork(
    work.opened,
    async () => "one",
    async (input, context) => {
      if (moves++ < 5) await persistence(context).setExecutionPoint({ nodeId: "branch/two", input });
      else if (moves++ < 10) await persistence(context).rollbackToLatestCheckpoint();
      moved.open();
      await work.opened;
      return input;
    },
  );
  const { running, end } = await answering(graph, work, 0);
  await moved.opened;
  expect(kept()).toBe(open);
  end();
  expect(await running).toMatchObject({ output: "one" });
});

it("a checkpoint of a branch that continues after an answer has the decisions before it, and no other settings", async () => {
  const work = gate();
  const decided: (readonly string[])[] = [];
  const graph = besideWork(
    work.opened,
    async (context) => {
      context.recordDecision({ decision: "first" });
      return "";
    },
    async (_input, context) => {
      const answer = await context.requestInput({ prompt: "?", schema });
      context.recordDecision({ decision: "second" });
      const { decisions } = await persistence(context).createCheckpoint({ nodeId: "branch/two", lastInput: "" });
      decided.push(decisions.map(({ decision }) => decision));
      return answer;
    },
  );
  const { storage, running, end } = await answering(graph, work, 1);
  end();
  expect(await running).toMatchObject({ output: "1" });
  expect(decided).toEqual([["first", "second"]]);
  const settings = (await recordsOf(storage)).filter(({ kind }) => kind === "settings");
  expect(settings).toHaveLength(1);
});
