import { checkSchema, strictOptions } from "../../internal/options/checkSchema.ts";
import type { AgentContext, BranchOf, MergeContext } from "../context/AgentContext.ts";
import { GraphBuilder } from "./GraphBuilder.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";
import { type BranchFailure, type BranchHistory, registerPlan } from "./GraphPlan.ts";
import { z } from "zod";

/** A complete graph of nodes. An agent runs it, or another graph contains it as a node. */
export interface Strategy<in Input = never, out Output = unknown> {
  /** A label for people. It is not part of node paths, so you can rename a strategy that has stored runs. */
  readonly name: string;
  /** The version for migrations of stored runs: an integer from 0. */
  readonly version: number;
  readonly [inputOf]: (input: Input) => void;
  readonly [outputOf]: () => Output;
}

export interface StrategyVersion {
  /**
   * Increase the version when stored runs need a migration, and define it in `migrations` of `PersistenceConfig`. Code
   * with a lower version cannot resume migrated runs. An integer from 0. Defaults to 0.
   */
  readonly version?: number | undefined;
}

type Schemas<Input, Output> = { readonly input: z.core.$ZodType<Input>; readonly output: z.core.$ZodType<Output> };

const optionsSchema = strictOptions(() => ({
  version: customSchema(
    "a whole number from 0 on",
    (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  ).optional(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
}));

/**
 * Builds a strategy. The optional schemas validate the input and the output of a run.
 *
 * @example
 * ```ts
 * const summarize = strategy<string, string>("summarize", (graph) => {
 *   const ask = graph.node("ask", callModel);
 *   graph.edge(graph.start, ask);
 *   graph.edge(ask, graph.finish, { map: textOf });
 * });
 * ```
 * @throws DuplicateNameError for two nodes of one name in one graph.
 * @throws InvalidStrategyError for a graph that cannot run.
 * @throws InvalidInputError for an unknown option or a wrong version.
 */
export function strategy<Input, Output>(
  name: string,
  build: (graph: Graph<Input, Output>) => void,
): Strategy<Input, Output>;
export function strategy<Input, Output>(
  name: string,
  options: Schemas<Input, Output> & StrategyVersion,
  build: (graph: Graph<Input, Output>) => void,
): Strategy<Input, Output>;
export function strategy<Input, Output>(
  name: string,
  options: StrategyVersion,
  build: (graph: Graph<Input, Output>) => void,
): Strategy<Input, Output>;
export function strategy<Input, Output>(
  name: string,
  ...rest:
    | readonly [(graph: Graph<Input, Output>) => void]
    | readonly [Partial<Schemas<Input, Output>> & StrategyVersion, (graph: Graph<Input, Output>) => void]
): Strategy<Input, Output> {
  const [options, build] = rest.length === 2 ? rest : [{}, rest[0]];
  checkSchema(z.string(), name, "name of a strategy");
  checkSchema(optionsSchema, options, `options of strategy "${name}"`);
  const { version = 0, ...schemas } = options;
  const built = Object.freeze({ name, version }) as Strategy<Input, Output>;
  registerPlan(built, GraphBuilder.plan(name, schemas, build as (graph: unknown) => void));
  return built;
}

/** The builder of a strategy. Nodes get frozen copies of values. To change its input, a node copies it first. */
export interface Graph<Input, Output> {
  /** The source of the first edges. Its output is the input of the run or the subgraph. */
  readonly start: Node<never, Input>;
  /** The target of the last edges. Its input is the output of the run or the subgraph. */
  readonly finish: Node<Output, never>;

  /** Adds a node. @throws DuplicateNameError for a used name, InvalidStrategyError for an invalid name. */
  node<In, Returned>(name: string, run: (input: In, context: AgentContext) => Returned): Node<In, NodeOutput<Returned>>;
  node<In, Returned>(
    name: string,
    options: NodeOptions<In, NodeOutput<NoInfer<Returned>>>,
    run: (input: NoInfer<In>, context: AgentContext) => Returned,
  ): Node<In, NodeOutput<Returned>>;

  /** Adds a graph as a node. The subgraph shares history, storage, tools and model with this graph. */
  subgraph<In, Out>(name: string, build: (graph: Graph<In, Out>) => void): Node<In, Out>;
  subgraph<In, Out>(name: string, strategy: Strategy<In, Out>): Node<In, Out>;

  /**
   * Adds a node that runs other nodes of this graph concurrently as branches and joins their outputs. Each branch gets
   * the input of this node. A branch is a node or subgraph without edges that belongs only to this parallel node. Each
   * branch starts with a copy of the history, settings and storage of this node.
   *
   * When all branches have finished, `merge` gets their outputs by name and returns the output of this node. After this
   * node, history and settings are the same as before the branches, unless `merge` changes them.
   *
   * @param branches At least one node of this graph by branch name. Branch names are not empty and contain neither "/"
   * nor "#".
   * @throws DuplicateNameError for a name that is already used.
   * @throws InvalidStrategyError for a node that cannot be a branch.
   * @throws InvalidInputError for a wrong or unknown option.
   */
  parallel<Branches extends Readonly<Record<string, Node>>, Returned>(
    name: string,
    branches: Branches,
    merge: (results: BranchOutputs<Branches>, context: MergeContext<NamedBranches<Branches>>) => Returned,
  ): Node<InputOf<Branches[keyof Branches]>, NodeOutput<Returned>>;
  parallel<Branches extends Readonly<Record<string, Node>>, Returned>(
    name: string,
    branches: Branches,
    options: ParallelOptions,
    merge: (results: BranchOutputs<Branches>, context: MergeContext<NamedBranches<Branches>>) => Returned,
  ): Node<InputOf<Branches[keyof Branches]>, NodeOutput<Returned>>;

  /**
   * Adds a node that runs another node of this graph once for each item of its input. Each run is a branch as in {@link
   * parallel}. `merge` gets the outputs in the order of the items. Without items, `merge` runs at once.
   *
   * @throws DuplicateNameError for a name that is already used.
   * @throws InvalidStrategyError for a node that cannot be a branch.
   * @throws InvalidInputError for a wrong or unknown option.
   */
  each<In, Out, Returned>(
    name: string,
    node: Node<In, Out>,
    merge: (results: readonly Out[], context: MergeContext<EachBranches<Out>>) => Returned,
  ): Node<readonly In[], NodeOutput<Returned>>;
  each<In, Out, Returned>(
    name: string,
    node: Node<In, Out>,
    options: EachOptions<NoInfer<In>>,
    merge: (results: readonly Out[], context: MergeContext<EachBranches<Out>>) => Returned,
  ): Node<readonly In[], NodeOutput<Returned>>;

  /**
   * Adds an edge. The edges of a node are tried in the order in which they were added. If the type guard `when` accepts
   * the output of `from`, `to` gets the output that `map` returns.
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
  /** Adds an edge that passes the result of `map` to the next node. */
  edge<Out, In>(
    from: Node<never, Out>,
    to: Node<In>,
    options: { readonly when?: ((output: Out) => boolean) | undefined; readonly map: (output: Out) => NoInfer<In> },
  ): void;
  /** Adds an edge that passes the output of `from` to the next node. */
  edge<Out>(
    from: Node<never, Out>,
    to: Node<NoInfer<Out>>,
    options?: { readonly when?: ((output: Out) => boolean) | undefined },
  ): void;
}

/** Schemas of a node. The node receives the parsed input, and the next node the parsed output. */
export interface NodeOptions<In, Out> {
  /** Without a schema, the input is not validated. */
  readonly input?: z.core.$ZodType<In> | undefined;
  /** Without a schema, the output is not validated. */
  readonly output?: z.core.$ZodType<Out> | undefined;
}

export interface ParallelOptions {
  /** The messages at the start of each branch: the whole history, or only the system prompt. Defaults to `"fork"`. */
  readonly history?: BranchHistory | undefined;
  /**
   * The behavior of the other branches after one branch has failed. `"finish"` runs them to their end, `"stop"` to
   * their next checkpoint. Afterwards the run rejects with the error. Defaults to `"finish"`.
   */
  readonly onFailure?: BranchFailure | undefined;
}

export interface EachOptions<Item> extends ParallelOptions {
  /** Returns the branch key of an item, unique within one input. Defaults to the index of the item. */
  readonly key?: ((item: Item, index: number) => string) | undefined;
  /** The maximum number of concurrent branches: an integer from 1. Defaults to all. */
  readonly concurrency?: number | undefined;
}

/** Property keys that exist only in the types, to infer the input and output of nodes and strategies. */
export declare const inputOf: unique symbol;
export declare const outputOf: unique symbol;

/** A node of a strategy. Edges refer to it. */
export interface Node<in Input = never, out Output = unknown> {
  /** Unique in the graph of the node. Contains no "/", and no "#" in a graph with parallel nodes. */
  readonly name: string;
  readonly [inputOf]: (input: Input) => void;
  readonly [outputOf]: () => Output;
}

/** The input of a node. For a union of nodes, an input that all of them accept. */
export type InputOf<N> = [N] extends [Node<infer In, unknown>] ? In : never;
export type OutputOf<N> = N extends Node<never, infer Out> ? Out : never;
/** The output of a node whose function returns `Returned`, without the result of a move. */
export type NodeOutput<Returned> = Exclude<Awaited<Returned>, RunMoved>;
export type BranchOutputs<Branches> = { readonly [Name in keyof Branches]: OutputOf<Branches[Name]> };
export type NamedBranches<Branches> = { readonly [Name in keyof Branches]: BranchOf<OutputOf<Branches[Name]>> };
export type EachBranches<Output> = readonly (BranchOf<Output> & { readonly key: string })[];

const moved: unique symbol = Symbol.for("agent-persistence.moved");

/** The result of a move of the run. A node can return it without declaring it in the output type. */
export interface RunMoved {
  readonly [moved]: true;
}

/** Marks a value as the result of a move. The mark is not enumerable, so comparisons and printed output ignore it. */
export function runMoved<Value extends object>(value: Value): Value & RunMoved {
  Object.defineProperty(value, moved, { value: true });
  return value as Value & RunMoved;
}

export function isRunMoved(value: unknown): value is RunMoved {
  return typeof value === "object" && value !== null && moved in value;
}
