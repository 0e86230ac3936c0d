import { InMemoryPersistenceStorageProvider, strategy } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import { expect, it } from "vitest";
import { TimelineReader } from "../../../src/timeline/data/TimelineReader.ts";
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
