import type { AgentContext } from "../context/AgentContext.ts";
import { GraphBuilder } from "./GraphBuilder.ts";
import type { inputOf, Node, NodeOutput, outputOf } from "./Node.ts";
import { registerPlan } from "./GraphPlan.ts";
import { z } from "zod";
import { checkSchema } from "../../internal/options/checkSchema.ts";

/** A finished graph: what an agent runs, or a subgraph of another. */
export interface Strategy<in Input = never, out Output = unknown> {
  /** For people; not part of any node path, so renaming it breaks nothing. */
  readonly name: string;
  readonly [inputOf]: (input: Input) => void;
  readonly [outputOf]: () => Output;
}

type Schemas<Input, Output> = { readonly input: z.ZodType<Input>; readonly output: z.ZodType<Output> };

/**
 * Builds a strategy. With schemas, the input and the output of a run are checked against them.
 *
 * @throws DuplicateNameError for two nodes of one name in one graph.
 * @throws InvalidStrategyError for a graph that cannot run.
 */
export function strategy<Input, Output>(
  name: string,
  build: (graph: Graph<Input, Output>) => void,
): Strategy<Input, Output>;
export function strategy<Input, Output>(
  name: string,
  schemas: Schemas<Input, Output>,
  build: (graph: Graph<Input, Output>) => void,
): Strategy<Input, Output>;
export function strategy<Input, Output>(
  name: string,
  ...rest:
    | readonly [(graph: Graph<Input, Output>) => void]
    | readonly [Schemas<Input, Output>, (graph: Graph<Input, Output>) => void]
): Strategy<Input, Output> {
  const [schemas, build] = rest.length === 1 ? [{}, rest[0]] : rest;
  checkSchema(z.string(), name, "name of a strategy");
  // The phantom members exist for the compiler alone.
  const built = Object.freeze({ name }) as Strategy<Input, Output>;
  registerPlan(built, GraphBuilder.plan(name, schemas, build as (graph: unknown) => void));
  return built;
}

/**
 * The nodes and edges of a strategy while it is being built. Values handed from node to node are frozen copies: a node
 * that wants to change its input makes its own copy.
 */
export interface Graph<Input, Output> {
  /** Where edges begin: it gives the input of the run, or of the subgraph. */
  readonly start: Node<never, Input>;
  /** Where edges end: what it gets is the output. */
  readonly finish: Node<Output, never>;

  /** Adds a node. @throws DuplicateNameError when the name is taken. @throws InvalidStrategyError when it is not a name. */
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
