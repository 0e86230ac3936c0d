import type { z } from "zod";
import type { AgentContext } from "../context/AgentContext.ts";
import type { Node, NodeOutput } from "./Node.ts";
import type { Strategy } from "./Strategy.ts";

/**
 * The nodes and edges of a strategy while it is being built. Values handed from node to node are frozen copies: a node
 * that wants to change its input makes its own copy.
 */
export interface Graph<Input, Output> {
  /** Where edges begin: it gives the input of the run, or of the subgraph. */
  readonly start: Node<never, Input>;
  /** Where edges end: what it gets is the output. */
  readonly finish: Node<Output, never>;

  /** Adds a node. @throws DuplicateNodeError when the name is taken. @throws InvalidStrategyError when it is not a name. */
  node<In, Returned>(name: string, run: (input: In, context: AgentContext) => Returned): Node<In, NodeOutput<Returned>>;
  node<In, Returned>(
    name: string,
    options: NodeOptions<In, NodeOutput<NoInfer<Returned>>>,
    run: (input: NoInfer<In>, context: AgentContext) => Returned,
  ): Node<In, NodeOutput<Returned>>;

  /** Adds a graph as one node. It shares history, storage, tools and model with this one. */
  subgraph<In, Out>(name: string, build: (graph: Graph<In, Out>) => void): Node<In, Out>;
  subgraph<In, Out>(name: string, strategy: Strategy<In, Out>): Node<In, Out>;

  /** Edges of a node are tried in the order they were added. `to` gets what the type guard `when` leaves of it, changed by `map` … */
  edge<Out, Narrowed extends Out, In>(
    from: Node<never, Out>,
    to: Node<In>,
    options: { readonly when: (output: Out) => output is Narrowed; readonly map: (output: Narrowed) => NoInfer<In> },
  ): void;
  edge<Out, Narrowed extends Out>(
    from: Node<never, Out>,
    to: Node<Narrowed>,
    options: { readonly when: (output: Out) => output is Narrowed },
  ): void;
  /** … or what `map` makes of it … */
  edge<Out, In>(
    from: Node<never, Out>,
    to: Node<In>,
    options: { readonly when?: ((output: Out) => boolean) | undefined; readonly map: (output: Out) => NoInfer<In> },
  ): void;
  /** … or what `from` gave. */
  edge<Out>(
    from: Node<never, Out>,
    to: Node<NoInfer<Out>>,
    options?: { readonly when?: ((output: Out) => boolean) | undefined },
  ): void;
}

/** Schemas that are checked whenever the node runs; what they make of a value is what the node takes and gives. */
export interface NodeOptions<In, Out> {
  /** Absent: the input is not checked. */
  readonly input?: z.ZodType<In> | undefined;
  /** Absent: the output is not checked. */
  readonly output?: z.ZodType<Out> | undefined;
}
