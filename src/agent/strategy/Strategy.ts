import type { z } from "zod";
import type { Graph } from "./Graph.ts";
import { GraphBuilder } from "./GraphBuilder.ts";
import type { inputOf, outputOf } from "./Node.ts";
import { rememberPlan } from "./StrategyPlans.ts";

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
 * @throws DuplicateNodeError for two nodes of one name in one graph.
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
  // The phantom members exist for the compiler alone.
  const built = Object.freeze({ name }) as Strategy<Input, Output>;
  rememberPlan(built, GraphBuilder.plan(name, schemas, build as (graph: unknown) => void));
  return built;
}
