import type { Clock } from "../../internal/Clock.ts";
import {
  clockSchema,
  customSchema,
  functionSchema,
  nonEmptyString,
  numberFrom,
  objectWithMethods,
} from "../../internal/options/optionSchemas.ts";
import type { RollbackParticipant } from "../../journal/RollbackParticipant.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import type { Telemetry } from "../../telemetry/Telemetry.ts";
import { telemetrySchema } from "../../telemetry/telemetrySchema.ts";
import { type OnToolCallInDoubt, onToolCallInDoubtSchema } from "../../doubt/ToolCallInDoubt.ts";
import type { Environment } from "../../environment/Environment.ts";
import type { RecoveryParticipant } from "../../environment/RecoveryParticipant.ts";
import type { EventBody, ListenerErrorHandler, PersistenceListener } from "../../events/PersistenceEvent.ts";
import { type InverseRetry, inverseRetrySchema } from "../inverse/InverseRetry.ts";
import { RollbackToolRegistry } from "../inverse/RollbackToolRegistry.ts";
import type { CheckpointTrigger } from "../triggers/CheckpointTrigger.ts";
import { isAfterNode } from "../triggers/triggers.ts";
import { type Migration, migrationSchema } from "../versions/Migration.ts";
import { type RetentionPolicy, retentionPolicySchema } from "./RetentionPolicy.ts";
import { type TrimmingPolicy, trimmingPolicySchema } from "./TrimmingPolicy.ts";
import { z } from "zod";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** Something that prunes at certain times: `retentionSchedule()` of `agent-persistence/task`. */
export interface PruningSchedule {
  /** Called once for each definition that it is configured in; must keep no process alive. */
  start(agents: PrunableAgents): void;
}

/** The agents of a storage, as a schedule prunes them. */
export interface PrunableAgents {
  /** The agent's own id. */
  readonly agentId: string;
  prune(): Promise<{
    readonly failed: readonly { readonly agentId: string; readonly error: unknown }[];
    readonly pruned: readonly { readonly agentId: string; readonly outstanding?: unknown }[];
  }>;
  tell(event: EventBody): void;
}

/** What rolls back with an agent, with what a recovery does about it. */
export interface ConfiguredParticipant extends RollbackParticipant {
  /** Takes part in recoveries of the agent that name no participants of their own. Absent: it does not. */
  readonly recovery?: RecoveryParticipant | undefined;
}

/** How an agent is made durable. */
export interface PersistenceConfig {
  /** Where checkpoints are stored. Default: `NoPersistenceStorageProvider`, which stores nothing. */
  readonly storage?: PersistenceStorageProvider | undefined;
  /**
   * Saves the input before the first node and the state after each node, durable before the next node starts. Default true.
   * If false, only `createCheckpoint` makes checkpoints; tool calls and the end of a run are still recorded.
   */
  readonly enableAutomaticPersistence?: boolean | undefined;
  /**
   * When to make checkpoints between the start and the end of a run. Triggers due at the same moment make one checkpoint,
   * named after the one of the highest priority. Default `[triggers.afterNode()]`. Ignored if `enableAutomaticPersistence`
   * is false.
   */
  readonly triggers?: readonly CheckpointTrigger[] | undefined;
  /** The inverses that undo the effects of tools in a rollback. Default: none. */
  readonly rollbackToolRegistry?: RollbackToolRegistry | undefined;
  /**
   * What is rolled back together with the agent, such as its files. Requires a storage with a log. Default: nothing.
   */
  readonly participants?: readonly ConfiguredParticipant[] | undefined;
  /**
   * What to do about a call that began and has no recorded end, if its tool's effect is neither `none` nor `idempotent` and
   * its `probe` does not know. Default `"ask"`: the run rejects with `ToolCallInDoubtError`.
   */
  readonly onToolCallInDoubt?: OnToolCallInDoubt | undefined;
  /** How often an inverse is tried before a rollback stops at it. Default: 3 times, 100 milliseconds apart. */
  readonly inverseRetry?: InverseRetry | undefined;
  /**
   * How long a move, or a run whose signal is aborted, waits for work in flight after aborting it, in milliseconds. A tool
   * call that has not ended by then is in doubt. Default 5,000.
   */
  readonly abortGraceMs?: number | undefined;
  /** Gets the events of all agents, in order, once they are durable. Not awaited. Default: no listener. */
  readonly onEvent?: PersistenceListener | undefined;
  /**
   * Gets the errors of `onEvent`; they have no other effect. Default: a process warning of type `AgentPersistenceWarning`.
   */
  readonly onListenerError?: ListenerErrorHandler | undefined;
  /**
   * The most that one checkpoint may add to the storage, in bytes of JSON before compression; values that are already stored
   * do not count. Default 5,242,880. A larger one is refused with `CheckpointTooLargeError`.
   */
  readonly maxCheckpointBytes?: number | undefined;
  /** Trims the live history at the end of each node; the log keeps everything. Default: no trimming. */
  readonly trimming?: TrimmingPolicy | undefined;
  /**
   * Where `context.require` looks: file hashes and the working directory are recorded with each checkpoint, and
   * `validateCheckpoint` and `recoverTask` compare them. Default: nothing is recorded or compared.
   */
  readonly environment?: Environment | undefined;
  /**
   * Which checkpoints and finished agents to delete. An agent is pruned when a run completes or fails and has more
   * checkpoints than it may keep; `persistence(agent).prune()` prunes all agents. Default: only that call deletes anything. A storage of three
   * methods cannot delete, so `install` throws `PruningNotSupportedError`.
   */
  readonly retention?: RetentionPolicy | undefined;
  /** When to prune all agents of the storage, besides. Started with the installation. Default: never. */
  readonly retentionSchedule?: PruningSchedule | undefined;
  /**
   * How stored runs get from one version of the strategy to the next. A resume goes through the shortest chain that leads from
   * the version of the run to that of the strategy, in one append before anything runs. Default: none, and a run continues
   * only if all that it can still reach is unchanged.
   */
  readonly migrations?: readonly Migration[] | undefined;
  /**
   * Shows what runs and agents do as spans and metrics, such as `openTelemetry()` of `agent-persistence/otel`. An agent that others
   * call uses theirs. Default: nothing is shown.
   */
  readonly telemetry?: Telemetry | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** Names that events use for checkpoints without a configured trigger. */
const takenNames = [
  "run_started",
  "line_started",
  "line_ended",
  "fork",
  "joined",
  "after_node",
  "run_ended",
  "unresolved",
  "asked_for",
  "rollback",
  "execution_point",
  "branch",
  "migration",
];

const trigger = z
  .object({
    name: nonEmptyString,
    priority: z.enum(["critical", "high", "normal"]),
    isDue: functionSchema(),
  })
  .refine(({ name, isDue }) => isDue === isAfterNode || !takenNames.includes(name), {
    path: ["name"],
    error: `expected another name than ${takenNames.join(", ")}, which events use for other things`,
  });

const participant = z.object({
  key: nonEmptyString,
  plan: functionSchema(),
  apply: functionSchema(),
  describe: functionSchema(),
  compare: functionSchema().optional(),
});

const environment = z.object({
  workingDirectory: z.string(),
  hasDirectory: functionSchema(),
  hashOf: functionSchema(),
  lookUp: functionSchema(),
});

/** What `install(Persistence)` may be given. */
export const persistenceConfigSchema: z.ZodType = strictOptions({
  storage: providerSchema.optional(),
  enableAutomaticPersistence: z.boolean().optional(),
  triggers: z.array(trigger).optional(),
  rollbackToolRegistry: customSchema(
    "a RollbackToolRegistry",
    (value) => value instanceof RollbackToolRegistry,
  ).optional(),
  participants: z.array(participant).optional(),
  onToolCallInDoubt: onToolCallInDoubtSchema.optional(),
  inverseRetry: inverseRetrySchema.optional(),
  abortGraceMs: numberFrom(0).optional(),
  onEvent: functionSchema().optional(),
  onListenerError: functionSchema().optional(),
  maxCheckpointBytes: numberFrom(1).optional(),
  trimming: trimmingPolicySchema.optional(),
  environment: environment.optional(),
  retention: retentionPolicySchema.optional(),
  retentionSchedule: objectWithMethods<PruningSchedule>("start").optional(),
  migrations: z.array(migrationSchema).optional(),
  telemetry: telemetrySchema.optional(),
  clock: clockSchema.optional(),
});
