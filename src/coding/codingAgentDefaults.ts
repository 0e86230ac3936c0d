import { dirname, resolve } from "node:path";
import { checkSchema } from "../internal/options/checkSchema.ts";
import { customSchema, nonEmptyString, objectWithMethods } from "../internal/options/optionSchemas.ts";
import { strictOptions } from "../internal/options/strictOptions.ts";
import { type PersistenceConfig, triggers } from "../index.ts";
import { FilePersistenceStorageProvider } from "../file.ts";
import type { PersistenceStorageProvider } from "../storage.ts";
import { diskUsage, nodeEnvironment, retentionSchedule } from "../task.ts";
import { Workspace } from "../workspace.ts";

/** What {@link codingAgentDefaults} takes. */
export interface CodingAgentOptions {
  /**
   * The files that the agent works on: they roll back with it, and a recovery looks at them. Also give its `tools` to the
   * agent. Default: none.
   */
  readonly workspace?: Workspace | undefined;
  /** The folder of the file storage, relative to the working directory of the process. Default `.agent-persistence`. */
  readonly directory?: string | undefined;
  /** Another storage; it must have a log. Default: files in `directory`. */
  readonly storage?: PersistenceStorageProvider | undefined;
}

const optionsSchema = strictOptions({
  workspace: customSchema("a Workspace", (value) => value instanceof Workspace).optional(),
  directory: nonEmptyString.optional(),
  storage: objectWithMethods<PersistenceStorageProvider>(
    "getCheckpoints",
    "saveCheckpoint",
    "getLatestCheckpoint",
  ).optional(),
});

/**
 * The configuration for an agent that works on files for hours: `install(Persistence, codingAgentDefaults({ workspace }))`.
 * Everything has its own defaults, and you may replace any part: `{ ...codingAgentDefaults(), trimming: undefined }`.
 *
 * - Checkpoints: after each node and sub-agent, before dangerous operations and calls of external systems, after changed
 *   files and answers of people, every five minutes, and when the context has grown by 10 KB.
 * - Trimming: the last 5 tool outputs and 50 messages stay.
 * - Retention: at the end of each run, daily at 03:00, and when the disk of `directory` is more than 80 % full.
 * - The environment of this process is recorded, and `recoverTask` restores files of the workspace.
 *
 * @throws InvalidInputError
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
    // The folder itself may not exist yet.
    retentionSchedule: retentionSchedule({ diskUsage: diskUsage(dirname(resolve(directory))) }),
    environment: nodeEnvironment({ workingDirectory: workspace?.root }),
    participants: workspace ? [workspace] : [],
  };
}
