import { type Migration, storageKey, strategy, type Strategy } from "agent-persistence";
import { z } from "zod";

/** What a researcher does, and how stored researchers of earlier versions get there. */
export interface Research {
  readonly strategy: Strategy<string, string>;
  readonly migrations: readonly Migration[];
}

/**
 * The strategy of the researchers. In version 2, the node `ask` is called `askPerson`, and the key `topic` of the storage is
 * called `subject`. Code of yours would have the newest version only.
 */
export function research(version: 1 | 2, note: (line: string) => void): Research {
  const about = storageKey(version === 1 ? "topic" : "subject", z.string());
  return {
    strategy: strategy<string, string>("research", { version }, (graph) => {
      const look = graph.node("look", (topic: string, { storage }) => {
        note(`looked up ${topic}`);
        storage.set(about, topic);
        return "25 euros";
      });
      const ask = graph.node(version === 1 ? "ask" : "askPerson", async (price: string, context) => {
        const topic = context.storage.get(about);
        if (topic !== "the customer") return `${topic}: ${price}`;
        const known = await context.requestInput({ prompt: `Do you know ${topic}?`, schema: z.boolean() });
        return `${topic}: ${known ? "known" : "unknown"}`;
      });
      graph.edge(graph.start, look);
      graph.edge(look, ask);
      graph.edge(ask, graph.finish);
    }),
    migrations: version === 1 ? [] : [{ from: 1, to: 2, nodes: { ask: "askPerson" }, migrate: renameTopic }],
  };
}

/** A line that has not looked anything up has no topic. */
const renameTopic: Migration["migrate"] = (line) => {
  const { topic, ...storage } = line.storage;
  return topic === undefined ? line : { ...line, storage: { ...storage, subject: topic } };
};
