import { z } from "zod";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { customSchema, functionSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** How stored runs get from one version of a strategy to a later one. */
export interface Migration {
  /** The version that a run has. */
  readonly from: number;
  /** The version that it gets; greater than `from`. */
  readonly to: number;
  /**
   * The new paths of nodes by the old ones. The path of a subgraph stands for all that is in it. Names inside subgraphs are
   * given as paths, such as `"facts/count"`. Default: no node has another name.
   */
  readonly nodes?: Readonly<Record<string, string>> | undefined;
  /** The new names of tools by the old ones. Default: no tool has another name. */
  readonly tools?: Readonly<Record<string, string>> | undefined;
  /**
   * Changes a line of the run: it gets the line with the new names, and returns it as it is to continue. Called for each line
   * that can go on, with copies, and again where a migration was tried or interrupted. When it throws, nothing has changed, and
   * the run rejects with a `MigrationFailedError`, whose `cause` is what it threw. The signal of the run ends the wait for it.
   * Default: the line stays.
   */
  readonly migrate?: ((line: MigratedLine) => MigratedLine | PromiseLike<MigratedLine>) | undefined;
}

/** A line of a stored run, as a migration gets it and returns it: the run itself, or a branch of it. */
export interface MigratedLine {
  /** The path of the node that runs next; `"start"` where none has begun. */
  readonly nodeId: string;
  /** The input of that node. */
  readonly lastInput: unknown;
  /** Oldest first. */
  readonly messageHistory: readonly Message[];
  /** The values of the agent's storage by key. */
  readonly storage: Readonly<Record<string, unknown>>;
  /** The names of the tools that the model is offered. */
  readonly tools: readonly string[];
  /** The branch that the line is, such as `both#facts`. Absent: none. What a migration returns here is ignored. */
  readonly branch?: string | undefined;
}

const names = z.record(z.string().min(1), z.string().min(1)).optional();
const version = customSchema<number>(
  "a whole number from 0 on",
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
);

/** What `migrations` of `PersistenceConfig` may contain. That they fit each other and the strategy is checked with it. */
export const migrationSchema: z.ZodType = strictOptions({
  from: version,
  to: version,
  nodes: names,
  tools: names,
  migrate: functionSchema().optional(),
});
