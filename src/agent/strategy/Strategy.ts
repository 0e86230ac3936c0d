import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { RunMoved } from "../context/RunMoved.ts";
import { GraphBuilder } from "./GraphBuilder.ts";
import { registerPlan } from "./GraphPlan.ts";
import { z } from "zod";

/** A complete graph, which an agent runs or another graph contains. */
export interface Strategy<in Input = never, out Output = unknown> {
  /** For people. Node paths do not contain it, so you can rename a strategy with stored runs. */
  readonly name: string;
  readonly [inputOf]: (input: Input) => void;
  readonly [outputOf]: () => Output;
}

type Schemas<Input, Output> = { readonly input: z.ZodType<Input>; readonly output: z.ZodType<Output> };

/**
 * Builds a strategy. Schemas, if given, validate the input and the output of a run.
 *
 * @throws DuplicateNameError for two nodes of one name in one graph.
 * @throws InvalidStrategyError for a graph that cannot run; InvalidInputError for an unknown option.
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
  // The phantom members exist only for the compiler.
  const built = Object.freeze({ name }) as Strategy<Input, Output>;
  registerPlan(built, GraphBuilder.plan(name, schemas, build as (graph: unknown) => void));
  return built;
}

/**
 * Builds the nodes and edges of a strategy. Values pass from node to node as frozen copies: a node that changes its input
 * makes its own copy first.
 */
export interface Graph<Input, Output> {
  /** The first edges leave it. Its output is the input of the run or the subgraph. */
  readonly start: Node<never, Input>;
  /** The last edges lead to it. Its input is the output of the run or the subgraph. */
  readonly finish: Node<Output, never>;

  /** Adds a node. @throws DuplicateNameError for a name that is taken, InvalidStrategyError for an invalid one. */
  node<In, Returned>(name: string, run: (input: In, context: AgentContext) => Returned): Node<In, NodeOutput<Returned>>;
  node<In, Returned>(
    name: string,
    options: NodeOptions<In, NodeOutput<NoInfer<Returned>>>,
    run: (input: NoInfer<In>, context: AgentContext) => Returned,
  ): Node<In, NodeOutput<Returned>>;

  /** Adds a graph as a node. It shares history, storage, tools and model with this graph. */
  subgraph<In, Out>(name: string, build: (graph: Graph<In, Out>) => void): Node<In, Out>;
  subgraph<In, Out>(name: string, strategy: Strategy<In, Out>): Node<In, Out>;

  /**
   * Adds an edge. The edges of a node are tried in the order they were added. `to` gets the output of `from`, narrowed by
   * the type guard `when` and changed by `map` …
   */
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
  /** … or the result of `map` … */
  edge<Out, In>(
    from: Node<never, Out>,
    to: Node<In>,
    options: { readonly when?: ((output: Out) => boolean) | undefined; readonly map: (output: Out) => NoInfer<In> },
  ): void;
  /** … or the output of `from`. */
  edge<Out>(
    from: Node<never, Out>,
    to: Node<NoInfer<Out>>,
    options?: { readonly when?: ((output: Out) => boolean) | undefined },
  ): void;
}

/** Schemas that validate each run of a node. The node receives and returns the values that they return. */
export interface NodeOptions<In, Out> {
  /** Absent: the input is not validated. */
  readonly input?: z.ZodType<In> | undefined;
  /** Absent: the output is not validated. */
  readonly output?: z.ZodType<Out> | undefined;
}

/** Phantom keys of nodes and strategies: they exist only for the compiler. */
export declare const inputOf: unique symbol;
export declare const outputOf: unique symbol;

/** A node of a strategy, as edges refer to it. */
export interface Node<in Input = never, out Output = unknown> {
  /** Unique in its graph; contains no "/". */
  readonly name: string;
  readonly [inputOf]: (input: Input) => void;
  readonly [outputOf]: () => Output;
}

/** The input of a node; for a union of nodes, the input that all of them accept. */
export type InputOf<N> = [N] extends [Node<infer In, unknown>] ? In : never;
/** The output of a node. */
export type OutputOf<N> = N extends Node<never, infer Out> ? Out : never;
/** The output of a node whose body returns `Returned`: the result of a move is no output. */
export type NodeOutput<Returned> = Exclude<Awaited<Returned>, RunMoved>;
