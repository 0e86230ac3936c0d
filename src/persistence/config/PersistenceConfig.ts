import type { Clock } from "../../internal/Clock.ts";
import {
  numberFrom,
  customSchema,
  clockSchema,
  functionSchema,
  nonEmptyString,
  objectWithMethods,
} from "../../internal/options/optionSchemas.ts";
import type { RollbackParticipant } from "../../journal/RollbackParticipant.ts";
import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import type { OnToolCallInDoubt } from "../doubt/ToolCallInDoubt.ts";
import type { Environment } from "../environment/Environment.ts";
import type { ListenerErrorHandler, PersistenceListener } from "../events/PersistenceEvent.ts";
import { type InverseRetry, inverseRetrySchema } from "../inverse/InverseRetry.ts";
import { RollbackToolRegistry } from "../inverse/RollbackToolRegistry.ts";
import type { CheckpointTrigger } from "../triggers/CheckpointTrigger.ts";
import { isAfterNode } from "../triggers/triggers.ts";
import { type RetentionPolicy, retentionPolicySchema } from "./RetentionPolicy.ts";
import { type TrimmingPolicy, trimmingPolicySchema } from "./TrimmingPolicy.ts";
import { z } from "zod";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/** How an agent is made durable. */
export interface PersistenceConfig {
  /** Where checkpoints go: any provider, whatever its filter. Default: `NoPersistenceStorageProvider`, which keeps nothing. */
  readonly storage?: PersistenceStorageProvider | undefined;
  /**
   * A checkpoint of the input before the first node and of the state after each node, durable before the next starts.
   * Default true. When false only asked-for checkpoints are made; tool calls and the end of a run are still recorded.
   */
  readonly enableAutomaticPersistence?: boolean | undefined;
  /**
   * When checkpoints are made between the start and the end of a run. What happens at one moment makes one checkpoint,
   * named after the trigger of the highest priority. Default `[afterNode()]`. None is asked when
   * `enableAutomaticPersistence` is false.
   */
  readonly triggers?: readonly CheckpointTrigger[] | undefined;
  /** What takes back the effects of tools when an agent is rolled back. Default: nothing does. */
  readonly rollbackToolRegistry?: RollbackToolRegistry | undefined;
  /**
   * What goes back together with the agent when it is rolled back, such as its files. Needs a storage with a log.
   * Default: nothing.
   */
  readonly participants?: readonly RollbackParticipant[] | undefined;
  /**
   * What becomes of a call that began and has no recorded end, when its tool is neither `none` nor `idempotent` and its
   * `probe` does not know. Default `"ask"`: the run stops with ToolCallInDoubtError.
   */
  readonly onToolCallInDoubt?: OnToolCallInDoubt | undefined;
  /** How often an inverse is tried before a rollback stops at it. Default: 3 times, 100 milliseconds apart. */
  readonly inverseRetry?: InverseRetry | undefined;
  /**
   * How long a move, and a run whose signal is aborted, waits for what is in flight after aborting it, in milliseconds.
   * A tool call that has not ended then is in doubt. Default 5,000.
   */
  readonly abortGraceMs?: number | undefined;
  /** Is told what happens to the agents, in order, after it is durable. It is not waited for. Default: nobody is told. */
  readonly onEvent?: PersistenceListener | undefined;
  /**
   * Gets what `onEvent` throws or rejects with; nothing else comes of it. Default: a warning of the process, of type
   * `AgentPersistenceWarning`.
   */
  readonly onListenerError?: ListenerErrorHandler | undefined;
  /**
   * How much one checkpoint may add to the storage, in bytes of JSON before compression: what is new with it, and not what
   * it refers to. Default 5,242,880. A larger one is refused with `CheckpointTooLargeError`.
   */
  readonly maxCheckpointBytes?: number | undefined;
  /** Keeps the live history short at the end of each node; what is taken out stays in the log. Default: nothing is trimmed. */
  readonly trimming?: TrimmingPolicy | undefined;
  /**
   * What `context.require` is held against: the files' hashes and the working directory are recorded with each checkpoint,
   * and `validateCheckpoint` and `recoverTask` look at them. Default: nothing is recorded or looked at.
   */
  readonly environment?: Environment | undefined;
  /**
   * What is thrown away. An agent is pruned at the end of a completed run once enough has come, and all agents by `persistence(agent).prune()`. Default:
   * nothing is thrown away but by that call. A storage of three methods can throw nothing away, so that `install` fails
   * with `PruningNotSupportedError`.
   */
  readonly retention?: RetentionPolicy | undefined;
  /** Default: the machine's. */
  readonly clock?: Clock | undefined;
}

/** What events say of checkpoints that no configured trigger asked for. */
const takenNames = [
  "run_started",
  "after_node",
  "run_ended",
  "unresolved",
  "asked_for",
  "rollback",
  "execution_point",
  "branch",
];

const trigger = z
  .object({
    name: nonEmptyString,
    priority: z.enum(["critical", "high", "normal"]),
    isDue: functionSchema(),
  })
  .refine(({ name, isDue }) => isDue === isAfterNode || !takenNames.includes(name), {
    path: ["name"],
    error: `Invalid input: expected another name than ${takenNames.join(", ")}, which events use for other things`,
  });

const participant = z.object({
  key: nonEmptyString,
  plan: functionSchema(),
  apply: functionSchema(),
  describe: functionSchema(),
});

const environment = z.object({
  workingDirectory: z.string(),
  hasDirectory: functionSchema(),
  hashOf: functionSchema(),
  lookUp: functionSchema(),
});

/** What `install(Persistence)` may be given. */
export const persistenceConfigSchema: z.ZodType = strictOptions({
  storage: objectWithMethods<PersistenceStorageProvider>(
    "getCheckpoints",
    "saveCheckpoint",
    "getLatestCheckpoint",
  ).optional(),
  enableAutomaticPersistence: z.boolean().optional(),
  triggers: z.array(trigger).optional(),
  rollbackToolRegistry: customSchema(
    "a RollbackToolRegistry",
    (value) => value instanceof RollbackToolRegistry,
  ).optional(),
  participants: z.array(participant).optional(),
  onToolCallInDoubt: customSchema(
    '"ask", "retry" or a function',
    (value) => value === "ask" || value === "retry" || typeof value === "function",
  ).optional(),
  inverseRetry: inverseRetrySchema.optional(),
  abortGraceMs: numberFrom(0).optional(),
  onEvent: functionSchema().optional(),
  onListenerError: functionSchema().optional(),
  maxCheckpointBytes: numberFrom(1).optional(),
  trimming: trimmingPolicySchema.optional(),
  environment: environment.optional(),
  retention: retentionPolicySchema.optional(),
  clock: clockSchema.optional(),
});
