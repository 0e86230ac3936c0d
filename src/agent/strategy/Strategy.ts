import { checkSchema } from "../../internal/options/checkSchema.ts";
import type { AgentContext } from "../context/AgentContext.ts";
import type { BranchOf, MergeContext } from "../context/MergeContext.ts";
import type { RunMoved } from "../context/RunMoved.ts";
import { GraphBuilder } from "./GraphBuilder.ts";
import { customSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { type BranchFailure, type BranchHistory, registerPlan } from "./GraphPlan.ts";
import { z } from "zod";

/** A complete graph, which an agent runs or another graph contains. */
export interface Strategy<in Input = never, out Output = unknown> {
  /** For people. Node paths do not contain it, so you can rename a strategy with stored runs. */
  readonly name: string;
  /** Counts the changes that stored runs have to follow: a whole number from 0 on. */
  readonly version: number;
  readonly [inputOf]: (input: Input) => void;
  readonly [outputOf]: () => Output;
}

/** The version of a strategy. */
export interface StrategyVersion {
  /**
   * Raise it with a change that stored runs have to follow, and say in `migrations` of `PersistenceConfig` how they do. Code of
   * a lower version does not continue them any more. A whole number from 0 on. Default: 0.
   */
  readonly version?: number | undefined;
}

type Schemas<Input, Output> = { readonly input: z.ZodType<Input>; readonly output: z.ZodType<Output> };

// The graph checks the schemas.
const optionsSchema = strictOptions({
  version: customSchema("a whole number from 0 on", isVersion).optional(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
});

function isVersion(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * Builds a strategy. Schemas, if given, validate the input and the output of a run.
 *
 * @throws DuplicateNameError for two nodes of one name in one graph.
 * @throws InvalidStrategyError for a graph that cannot run; InvalidInputError for an unknown option or a wrong version.
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
  const [options, build] = rest.length === 1 ? [{}, rest[0]] : rest;
  checkSchema(z.string(), name, "name of a strategy");
  checkSchema(optionsSchema, options, `options of strategy "${name}"`);
  const { version = 0, ...schemas } = options;
  // The phantom members exist only for the compiler.
  const built = Object.freeze({ name, version }) as Strategy<Input, Output>;
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
   * Adds a node that runs other nodes of this graph side by side and joins their outputs. Its input is the input of each
   * branch. A branch is a node or a subgraph without edges, and a branch of this node only. It begins with the history,
   * settings and storage of the fork, changes its own copy of them, and goes on at its own pace. When all branches have
   * ended, `merge` gets their outputs by name; what it returns is the output of this node. After the join, the history and
   * settings are those of the fork, unless `merge` changes them.
   *
   * @param branches at least one node of this graph by branch name. Branch names are not empty and contain no "/" and "#".
   * @throws DuplicateNameError for a name that is taken; InvalidStrategyError for a branch that cannot be one;
   * InvalidInputError for a wrong or unknown option.
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
   * Adds a node that runs another node of this graph once for each item of its input, each time as a branch, as
   * {@link parallel} does. `merge` gets the outputs in the order of the items. Without items, it runs at once.
   *
   * @throws DuplicateNameError for a name that is taken; InvalidStrategyError for a node that cannot be a branch;
   * InvalidInputError for a wrong or unknown option.
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

/** How the branches of a parallel node run. */
export interface ParallelOptions {
  /**
   * The messages that each branch begins with: those of the fork, or with `"fresh"` only the system prompt. Default `"fork"`.
   */
  readonly history?: BranchHistory | undefined;
  /**
   * What the other branches do after one has failed: they run to their end, or with `"stop"` to their next checkpoint.
   * Then the run rejects with the error. Default `"finish"`.
   */
  readonly onFailure?: BranchFailure | undefined;
}

/** How the branches of `graph.each` run. */
export interface EachOptions<Item> extends ParallelOptions {
  /** The key of the branch of an item. No two items of one input may have the same key. Default: the index of the item. */
  readonly key?: ((item: Item, index: number) => string) | undefined;
  /** How many branches run at a time: a whole number from 1 on. Default: all. */
  readonly concurrency?: number | undefined;
}

/** Phantom keys of nodes and strategies: they exist only for the compiler. */
export declare const inputOf: unique symbol;
export declare const outputOf: unique symbol;

/** A node of a strategy, as edges refer to it. */
export interface Node<in Input = never, out Output = unknown> {
  /** Unique in its graph; contains no "/", and in a graph that has parallel nodes no "#". */
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
/** The outputs of named branches. */
export type BranchOutputs<Branches> = { readonly [Name in keyof Branches]: OutputOf<Branches[Name]> };
/** The branches of `graph.parallel`, as its `merge` sees them. */
export type NamedBranches<Branches> = { readonly [Name in keyof Branches]: BranchOf<OutputOf<Branches[Name]>> };
/** The branches of `graph.each`, as its `merge` sees them. */
export type EachBranches<Output> = readonly (BranchOf<Output> & { readonly key: string })[];
