import { z } from "zod";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { customSchema, functionSchema } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** Migrates stored runs from one version of a strategy to a later version. */
export interface Migration {
  /** The current version of the run. */
  readonly from: number;
  /** The new version of the run, greater than `from`. */
  readonly to: number;
  /**
   * The new paths of renamed nodes, by their old paths. The path of a subgraph includes all its contents. Nodes in
   * subgraphs use paths such as `"facts/count"`. Defaults to no renamed nodes.
   */
  readonly nodes?: Readonly<Record<string, string>> | undefined;
  /** The new names of renamed tools, by their old names. Defaults to no renamed tools. */
  readonly tools?: Readonly<Record<string, string>> | undefined;
  /**
   * Receives a line with the new names and returns the changed line. Called with copies for each line that can
   * continue, and again after a trial or an interruption. If it throws, the agent is unchanged, and the run rejects
   * with a `MigrationFailedError` with the error as `cause`. The signal of the run ends the wait. By default the line
   * is unchanged.
   *
   * @example
   * ```ts
   * const migrations: Migration[] = [
   *   { from: 1, to: 2, nodes: { count: "tally" }, migrate: (line) => ({ ...line, storage: { ...line.storage, total: 0 } }) },
   * ];
   * ```
   */
  readonly migrate?: ((line: MigratedLine) => MigratedLine | PromiseLike<MigratedLine>) | undefined;
}

/** A line of a stored run, as a migration receives and returns it: the run itself, or a branch of it. */
export interface MigratedLine {
  /** The path of the node that runs next, or `"start"` if no node has started. */
  readonly nodeId: string;
  /** The input of that node. */
  readonly lastInput: unknown;
  /** Oldest first. */
  readonly messageHistory: readonly Message[];
  /** The values of the agent's storage by key. */
  readonly storage: Readonly<Record<string, unknown>>;
  /** The names of the tools that the model may call. */
  readonly tools: readonly string[];
  /**
   * The branch of the line, such as `both#facts`. `undefined` for the main line. Ignored in the result of a migration.
   */
  readonly branch?: string | undefined;
}

const names = z.record(z.string().min(1), z.string().min(1)).optional();
const version = customSchema<number>(
  "a whole number from 0 on",
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
);

/** Validates the form of `migrations`. `Migrations` checks that they fit each other and the strategy. */
export const migrationSchema: z.ZodType = strictOptions({
  from: version,
  to: version,
  nodes: names,
  tools: names,
  migrate: functionSchema().optional(),
});
