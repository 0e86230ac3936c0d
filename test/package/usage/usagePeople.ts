// Branches side by side.
import { z } from "zod";
import { type AgentContext, type Message, storageKey, strategy } from "agent-persistence";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};

// ---- 2 branches known beforehand: each has the history and storage of the fork, and goes on at its own pace
const found = storageKey("found", z.array(z.string()));
export const research = strategy<string, string>("research", (graph) => {
  const facts = graph.node("facts", async (text: string, context: AgentContext) => {
    context.storage.set(found, [text]); // this branch's own, until the join
    const ok = await context.requestInput({ prompt: `Look up ${text}?`, schema: z.boolean() }); // siblings go on
    return ok ? text.length : 0;
  });
  const shout = graph.subgraph<string, string>("shout", (inner) => {
    const loud = inner.node("loud", (text: string) => text.toUpperCase());
    inner.edge(inner.start, loud);
    inner.edge(loud, inner.finish);
  });
  const both = graph.parallel("both", { facts, shout }, (results, context) => {
    same<typeof results, { readonly facts: number; readonly shout: string }>();
    same<typeof context.branches.facts.output, number>();
    same<typeof context.branches.shout.messages, readonly Message[]>(); // what the branch added to the history
    context.storage.set(found, [
      ...(context.branches.facts.storage.get(found) ?? []),
      ...(context.branches.shout.storage.get(found) ?? []),
    ]);
    context.llm.append(...context.branches.facts.messages); // after a join the history is the fork's, unless merge says otherwise
    return results.shout.repeat(results.facts);
  });
  const best = graph.parallel(
    "best",
    { a: graph.node("a", (text: string) => text), b: graph.node("b", (text: string) => text) },
    { history: "fresh", onFailure: "stop" },
    (results, context) => {
      context.branches[results.a.length > results.b.length ? "a" : "b"].adopt(); // go on as if it alone had run
      return results.a;
    },
  );
  // @ts-expect-error both takes a text, as each of its branches does
  graph.edge(best, both, { map: () => 1 });
  graph.edge(graph.start, both);
  graph.edge(both, best);
  graph.edge(best, graph.finish);
});

// ---- 3 as many branches as there are items
export const perFile = strategy<readonly string[], number>("perFile", (graph) => {
  const read = graph.node("read", async (path: string) => path.length);
  const all = graph.each(
    "all",
    read,
    {
      key: (path, index) => {
        same<typeof path, string>();
        same<typeof index, number>();
        return path;
      },
      concurrency: 4,
    },
    (results, context) => {
      same<typeof results, readonly number[]>(); // in the order of the items, whoever ended first
      same<(typeof context.branches)[number]["key"], string>();
      return results.reduce((sum, length) => sum + length, 0);
    },
  );
  graph.edge(graph.start, all);
  graph.edge(all, graph.finish);
});
