import { dirname, resolve } from "node:path";
import { checkSchema, strictOptions } from "../internal/options/checkSchema.ts";
import { customSchema, nonEmptyString, objectWithMethods } from "../internal/options/optionSchemas.ts";
import { type PersistenceConfig, triggers } from "../index.ts";
import { FilePersistenceStorageProvider } from "../file.ts";
import type { PersistenceStorageProvider } from "../storage.ts";
import { diskUsage, nodeEnvironment, retentionSchedule } from "../task.ts";
import { Workspace } from "../workspace.ts";

/** Options of {@link codingAgentDefaults}. */
export interface CodingAgentOptions {
  /**
   * The files that the agent works on, and their rollback and recovery. Also pass `tools` of the workspace to the
   * agent.
   */
  readonly workspace?: Workspace | undefined;
  /** The directory of the file storage, relative to the working directory. Defaults to `.agent-persistence`. */
  readonly directory?: string | undefined;
  /** Another storage, which must have a log. Defaults to files in `directory`. */
  readonly storage?: PersistenceStorageProvider | undefined;
}

const optionsSchema = strictOptions(() => ({
  workspace: customSchema("a Workspace", (value) => value instanceof Workspace).optional(),
  directory: nonEmptyString.optional(),
  storage: objectWithMethods<PersistenceStorageProvider>(
    "getCheckpoints",
    "saveCheckpoint",
    "getLatestCheckpoint",
  ).optional(),
}));

/**
 * Returns a configuration for an agent that works on files for hours. All options have defaults. You can replace any
 * part, as in `{ ...codingAgentDefaults(), trimming: undefined }`.
 *
 * - Checkpoints: after each node and sub-agent, before dangerous operations and calls of external systems, after
 * changed files and answers of people, every five minutes, and when the context has grown by 10 KB.
 * - Trimming: the last 5 tool outputs and 50 messages stay.
 * - Retention: at the end of each run, daily at 03:00, and when the disk of `directory` is more than 80 % full.
 * - The environment of this process is recorded, and `recoverTask` restores files of the workspace.
 *
 * @throws InvalidInputError
 *
 * @example
 * ```ts
 * const workspace = new Workspace({ root: "/srv/project" });
 * const agent = new AIAgent({ promptExecutor, llmModel: "gpt-5-mini", tools: workspace.tools })
 *   .install(Persistence, codingAgentDefaults({ workspace }));
 * ```
 */
export function codingAgentDefaults(options: CodingAgentOptions = {}): PersistenceConfig {
  checkSchema(optionsSchema, options, "options of codingAgentDefaults()");
  const { workspace, directory = ".agent-persistence" } = options;
  return {
    storage: options.storage ?? new FilePersistenceStorageProvider({ directory }),
    triggers: [
      triggers.beforeDangerousOperation(),
      triggers.afterAgentCompletion(),
      triggers.afterUserInteraction(),
      triggers.beforeExternalApiCall(),
      triggers.afterFileModification(),
      triggers.afterNode(),
      triggers.interval(),
      triggers.contextDelta(),
    ],
    trimming: {},
    retention: {},
    // The directory itself may not exist yet.
    retentionSchedule: retentionSchedule({ diskUsage: diskUsage(dirname(resolve(directory))) }),
    environment: nodeEnvironment({ workingDirectory: workspace?.root }),
    participants: workspace ? [workspace] : [],
  };
}
