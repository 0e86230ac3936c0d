import { InMemoryPersistenceStorageProvider, strategy } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import { expect, it } from "vitest";
import type { TimelineItem } from "../../../src/timeline/data/TimelineData.ts";
import { TimelineReader } from "../../../src/timeline/data/TimelineReader.ts";
import { stateAtStep, stepsByKey } from "../../../src/timeline/layout/stateAtStep.ts";
import { durableAgent } from "../../persistence/support/durableAgent.ts";

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

it("the state at each step has the messages of its checkpoint if the history is trimmed and edited", async () => {
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
  const inspector = inspect(storage);
  const items: TimelineItem[] = [];
  for await (const item of new TimelineReader(inspector, "a", {}).items()) items.push(item);
  const steps = stepsByKey(items);
  expect(steps.size).toBeGreaterThan(6);
  for (const step of steps.values()) {
    const { messages } = await inspector.checkpoint("a", step.checkpoint ?? "");
    const numbers = stateAtStep(step, steps).messages.map(({ number }) => number);
    expect(numbers).toEqual(messages.map(({ number }) => number));
  }
});
