// Compiled, never run: what the types of parallel nodes accept and refuse, besides the contract in test/package/usage.
import { z } from "zod";
import type { BranchOf, MergeContext } from "../../../src/agent/context/AgentContext.ts";
import { type InputOf, type Node, type OutputOf, strategy, runMoved } from "../../../src/agent/strategy/Strategy.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : [never]): void => {};
declare const persons: Node<{ readonly name: string }, string>;
declare const ages: Node<{ readonly age: number }, number>;
declare const numbers: Node<number, number>;

strategy<string, string>("s", (graph) => {
  const both = graph.parallel("both", { persons, ages }, (results, context) => {
    same<typeof results, { readonly persons: string; readonly ages: number }>();
    same<typeof context, MergeContext<{ readonly persons: BranchOf<string>; readonly ages: BranchOf<number> }>>();
    // @ts-expect-error there is no such branch
    context.branches.others.adopt();
    // @ts-expect-error the storage of a branch is read
    context.branches.ages.storage.set({ name: "n", schema: z.number() }, 1);
    return results.ages;
  });
  const joined: Node<{ readonly name: string; readonly age: number }, number> = both;
  graph.edge(joined, graph.finish, { map: String });
  // @ts-expect-error its branches take a name, too
  graph.edge(graph.start, both, { map: () => ({ age: 1 }) });

  const none = graph.parallel("none", { persons, numbers }, () => 1);
  // @ts-expect-error no input is a person and a number
  graph.edge(graph.start, none, { map: () => 1 });

  const moved = graph.parallel("moved", { numbers }, { onFailure: undefined }, async ({ numbers: sum }) =>
    sum > 1 ? runMoved({}) : sum,
  );
  same<InputOf<typeof moved>, number>();
  same<OutputOf<typeof moved>, number>();

  const all = graph.each("all", persons, async (results, context) => {
    same<typeof results, readonly string[]>();
    same<typeof context.branches, readonly (BranchOf<string> & { readonly key: string })[]>();
    return results.length;
  });
  same<typeof all, Node<readonly { readonly name: string }[], number>>();
  const rows = graph.each("rows", all, { key: (row, index) => `${index}: ${row.length}` }, (results) => results);
  same<typeof rows, Node<readonly (readonly { readonly name: string }[])[], readonly number[]>>();

  // @ts-expect-error a key is a text
  graph.each("odd", numbers, { key: (item) => item }, () => 1);
  // @ts-expect-error misspelled
  graph.each("odd", numbers, { concurency: 2 }, () => 1);
  // @ts-expect-error named branches have their names as keys
  graph.parallel("odd", { numbers }, { key: () => "" }, () => 1);
  // @ts-expect-error there is no such history
  graph.parallel("odd", { numbers }, { history: "none" }, () => 1);
  // @ts-expect-error a branch is a node
  graph.parallel("odd", { numbers: "numbers" }, () => 1);
  // @ts-expect-error without merge there is no output
  graph.parallel("odd", { numbers }, {});
});
