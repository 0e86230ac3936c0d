import { InMemoryPersistenceStorageProvider, type PersistenceStorageProvider, strategy } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { TimelineItem } from "../../../src/timeline/data/TimelineData.ts";
import { TimelineReader } from "../../../src/timeline/data/TimelineReader.ts";
import { stateAtStep, stepsByKey } from "../../../src/timeline/layout/stateAtStep.ts";
import { crashing, liveLines } from "../../persistence/lines/support/liveLines.ts";
import { linesOf } from "../../persistence/lines/support/randomLines.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";
import { memory } from "../../persistence/support/storages.ts";
import { cases } from "../../soak/cases.ts";

it("an event that is reported with the next step is not repeated if a read ends between the event and the step", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const echo = strategy<string, string>("echo", (graph) => {
    const node = graph.node("echo", (text: string) => text);
    graph.edge(graph.start, node);
    graph.edge(node, node, { when: (text) => text === "again", map: () => "go" });
    graph.edge(node, graph.finish, { when: (text) => text !== "again" });
  });
  const agent = durableAgent(echo, storage);
  await agent.run("again");
  for (let run = 1; run < 64; run++) await agent.run("go");
  const inspector = inspect(storage);
  const { steps } = await inspector.steps("a", { after: -1, limit: 251 });
  expect(steps.slice(-2).map(({ kind }) => kind)).toEqual(["run", "begin"]);
  const kinds: string[] = [];
  for await (const { kind } of new TimelineReader(inspector, "a", {}).items()) kinds.push(kind);
  expect(new Set(kinds)).toEqual(new Set(["step", "owner"]));
});

async function assertStates(storage: PersistenceStorageProvider): Promise<void> {
  const inspector = inspect(storage, { maxValueLength: Infinity });
  const items: TimelineItem[] = [];
  for await (const item of new TimelineReader(inspector, "a", {}).items()) items.push(item);
  const steps = stepsByKey(items);
  for (const step of steps.values()) {
    if (step.checkpoint === undefined) continue;
    const known = await inspector.checkpoint("a", step.checkpoint, { messagesLimit: 1_000 });
    const { messages, storage: values } = stateAtStep(step, steps);
    expect(messages.map(({ number }) => number)).toEqual(known.messages.map(({ number }) => number));
    expect([...values.keys()].toSorted()).toEqual(Object.keys(known.storage).toSorted());
  }
}

it("the state at each step is the state of its checkpoint in several runs, whose histories are trimmed and edited", async () => {
  const storage = new InMemoryPersistenceStorageProvider();
  const fill = strategy<string, string>("fill", (graph) => {
    const node = graph.node("fill", (text: string, { llm }) => {
      for (let at = 0; at < 5; at++) llm.append({ role: "user", content: `${text}.${at}` });
      return `${text}+`;
    });
    const change = graph.node("change", (text: string, { llm }) => {
      llm.append({ role: "user", content: `change ${text}` });
      llm.rewrite((messages) => [...messages.slice(1, -1), { role: "user", content: "before" }, ...messages.slice(-1)]);
      return text;
    });
    graph.edge(graph.start, node);
    graph.edge(node, change);
    graph.edge(change, node, { when: (text) => text.length < 6 });
    graph.edge(change, graph.finish, { when: (text) => text.length >= 6 });
  });
  const agent = durableAgent(fill, storage, { trimming: { messages: 3, summarize: () => "summary" } });
  await agent.run("go");
  await agent.run("on", { history: "continue" });
  await agent.run("so");
  await assertStates(storage);
});

it.each([1, 2])("the state at each step is the state of its checkpoint, in branches %d deep", async (depth) => {
  await fc.assert(
    fc.asyncProperty(linesOf(depth), async (lines) => {
      const opened = await memory.open();
      await liveLines(lines, crashing(opened));
      await assertStates(opened());
    }),
    { numRuns: cases(5, 200) },
  );
});
