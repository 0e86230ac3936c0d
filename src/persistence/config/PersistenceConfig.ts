import { type RetentionPolicy, retentionPolicySchema } from "./RetentionPolicy.ts";
import type { Clock } from "../../internal/Clock.ts";
import {
  clockSchema,
  customSchema,
  functionSchema,
  nonEmptyString,
  numberFrom,
  objectWithMethods,
  integerFrom,
} from "../../internal/options/optionSchemas.ts";
import type { RollbackParticipant } from "../../journal/RollbackParticipant.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../storage/PersistenceStorageProvider.ts";
import { type Telemetry, telemetrySchema } from "../../telemetry/Telemetry.ts";
import type { Redactor } from "../../redaction/redaction.ts";
import { type OnToolCallInDoubt, onToolCallInDoubtSchema } from "../../doubt/ToolCallInDoubt.ts";
import type { ApprovalVerifier } from "../../signedApprovals/signedApprovals.ts";
import type { Environment } from "../../environment/EnvironmentMismatch.ts";
import type { RecoveryParticipant } from "../../environment/RecoveryParticipant.ts";
import type { EventBody, ListenerErrorHandler, PersistenceListener } from "../../listeners/PersistenceEvent.ts";
import { type InverseRetry, inverseRetrySchema, RollbackToolRegistry } from "../inverses/RollbackToolRegistry.ts";
import { isAfterNode, type CheckpointTrigger } from "./triggers.ts";
import { type Migration, migrationSchema } from "../versions/Migrations.ts";
import { z } from "zod";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";

/** A schedule that prunes at certain times, such as `retentionSchedule()` of `agent-persistence/task`. */
export interface PruningSchedule {
  /** Called once for each agent definition with the schedule. Must not keep the process alive. */
  start(agents: PrunableAgents): void;
}

/** The agents of a storage, as seen by a schedule. */
export interface PrunableAgents {
  readonly agentId: string;
  prune(): Promise<{
    readonly failed: readonly { readonly agentId: string; readonly error: unknown }[];
    readonly pruned: readonly { readonly agentId: string; readonly outstanding?: unknown }[];
  }>;
  tell(event: EventBody): void;
}

/** A resource, such as files, that takes part in rollbacks and recoveries of an agent. */
export interface ConfiguredParticipant extends RollbackParticipant {
  /** The part of the participant for recoveries that name no participants. If omitted, they skip this participant. */
  readonly recovery?: RecoveryParticipant | undefined;
}

export interface PersistenceConfig {
  /** The storage of the agents. Defaults to `NoPersistenceStorageProvider`, which stores no data. */
  readonly storage?: PersistenceStorageProvider | undefined;
  /**
   * Saves the input before the first node and the state after each node. Each checkpoint is durable before the next
   * node starts. Defaults to true. If false, only `createCheckpoint` makes checkpoints. Tool calls and the end of a run
   * are still recorded.
   */
  readonly enableAutomaticPersistence?: boolean | undefined;
  /**
   * When to make checkpoints between the start and the end of a run. Triggers due at the same time share a checkpoint,
   * named after the trigger with the highest priority. Defaults to `[triggers.afterNode()]`. Ignored if
   * `enableAutomaticPersistence` is false.
   */
  readonly triggers?: readonly CheckpointTrigger[] | undefined;
  /** The inverses that undo the effects of tools in a rollback. Defaults to an empty registry. */
  readonly rollbackToolRegistry?: RollbackToolRegistry | undefined;
  /** Resources that are rolled back with the agent, such as files. Requires a log. Defaults to `[]`. */
  readonly participants?: readonly ConfiguredParticipant[] | undefined;
  /**
   * Decides about a call in doubt, which started but has no recorded outcome. Used for tools with effect `reversible`
   * or `irreversible` whose `probe` does not know. Defaults to `"ask"`: the run rejects with `ToolCallInDoubtError`.
   */
  readonly onToolCallInDoubt?: OnToolCallInDoubt | undefined;
  /**
   * Accepts only approvals that pass a check, such as `signedApprovals()` of `agent-persistence/seals`. `answer`
   * rejects any other approval with `InvalidInputError`. If the log contains an approval that does not pass, the
   * request waits again. Rejections need no signature. Sub-agents use the check of their caller. Defaults to no check.
   */
  readonly approvals?: ApprovalVerifier | undefined;
  /** How often a rollback tries an inverse before it stops. Defaults to 3 times, 100 milliseconds apart. */
  readonly inverseRetry?: InverseRetry | undefined;
  /**
   * How long a moved or aborted run waits for its aborted work, in milliseconds. A tool call that takes longer is in
   * doubt. Defaults to 5,000.
   */
  readonly abortGraceMs?: number | undefined;
  /**
   * The maximum sleep during which the process waits, in milliseconds. A run with a longer `context.sleep` ends as
   * `waiting`. A sub-agent has a separate value. Defaults to 5,000.
   */
  readonly sleepInProcessMs?: number | undefined;
  /** Receives the events of all agents in order, when their data is durable. The result is not awaited. */
  readonly onEvent?: PersistenceListener | undefined;
  /** Receives the errors of `onEvent`, which are otherwise ignored. Defaults to a process warning. */
  readonly onListenerError?: ListenerErrorHandler | undefined;
  /**
   * The maximum size of new data in one checkpoint, in bytes of JSON before compression. Values that are already stored
   * do not count. Defaults to 5,242,880. A larger checkpoint throws `CheckpointTooLargeError`.
   */
  readonly maxCheckpointBytes?: number | undefined;
  /** Shortens the message history after each node. The log keeps the full history. Defaults to no trimming. */
  readonly trimming?: TrimmingPolicy | undefined;
  /**
   * The environment for `context.require`. File hashes and the working directory are recorded with each checkpoint, and
   * `validateCheckpoint` and `recoverTask` compare them. Without this option, they are not recorded and not compared.
   */
  readonly environment?: Environment | undefined;
  /**
   * Which checkpoints and finished agents to delete. An agent is pruned when a run completes or fails and the agent has
   * too many checkpoints. `persistence(agent).prune()` prunes all agents. By default only that call deletes data. With
   * a three-method storage, `install` throws `PruningNotSupportedError`.
   */
  readonly retention?: RetentionPolicy | undefined;
  /** Prunes all agents at certain times after the installation. Defaults to no schedule. */
  readonly retentionSchedule?: PruningSchedule | undefined;
  /**
   * Migrations of stored runs between versions of the strategy. A resume uses the shortest chain from the version of
   * the run to the version of the strategy, and stores all changes in one append before any node runs. Without
   * migrations, a run continues only if all code that the run can still reach is unchanged.
   */
  readonly migrations?: readonly Migration[] | undefined;
  /**
   * Receives the operations of agents, such as `openTelemetry()` of `agent-persistence/otel`. A sub-agent uses the
   * telemetry of its caller. Defaults to no telemetry.
   */
  readonly telemetry?: Telemetry | undefined;
  /**
   * Redacts values before they are stored, and in events and telemetry, such as `redaction()` of
   * `agent-persistence/encryption`. A sub-agent uses the redaction of its caller. Defaults to no redaction.
   */
  readonly redact?: Redactor | undefined;
  /** Defaults to the system clock. */
  readonly clock?: Clock | undefined;
}

/** Reasons of checkpoints without a trigger, in events. The name of a trigger must differ from them. */
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
  .object(
    {
      name: nonEmptyString,
      priority: z.enum(["critical", "high", "normal"]),
      isDue: functionSchema(),
    },
    "expected a trigger such as triggers.afterNode()",
  )
  .refine(({ name, isDue }) => isDue === isAfterNode || !takenNames.includes(name), {
    path: ["name"],
    error: `expected another name, because events use the names ${takenNames.join(", ")}`,
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

export const persistenceConfigSchema: z.ZodType = strictOptions(() => ({
  storage: providerSchema.optional(),
  enableAutomaticPersistence: z.boolean().optional(),
  triggers: z.array(trigger).optional(),
  rollbackToolRegistry: customSchema(
    "a RollbackToolRegistry",
    (value) => value instanceof RollbackToolRegistry,
  ).optional(),
  participants: z.array(participant).optional(),
  onToolCallInDoubt: onToolCallInDoubtSchema.optional(),
  approvals: objectWithMethods<ApprovalVerifier>("verify").optional(),
  inverseRetry: inverseRetrySchema.optional(),
  abortGraceMs: numberFrom(0).optional(),
  sleepInProcessMs: numberFrom(0).optional(),
  onEvent: functionSchema().optional(),
  onListenerError: functionSchema().optional(),
  maxCheckpointBytes: numberFrom(1).optional(),
  trimming: trimmingPolicySchema.optional(),
  environment: environment.optional(),
  retention: retentionPolicySchema.optional(),
  retentionSchedule: objectWithMethods<PruningSchedule>("start").optional(),
  migrations: z.array(migrationSchema).optional(),
  telemetry: telemetrySchema.optional(),
  redact: objectWithMethods<Redactor>("apply", "input", "output").optional(),
  clock: clockSchema.optional(),
}));

/** The content that a summarizer shortens. */
export type OlderContent =
  | { readonly kind: "tool_output"; readonly toolName: string; readonly toolCallId: string; readonly output: unknown }
  /** Oldest first. The first message can be the summary of earlier messages. */
  | { readonly kind: "messages"; readonly messages: readonly Message[] };

/** Returns the summary of older content. A run awaits it after a node. If it throws, the next node calls it again. */
export type Summarizer = (
  older: OlderContent,
  options: { readonly signal: AbortSignal },
) => string | PromiseLike<string>;

/** Defines how the message history is shortened. The log keeps the full history. */
export interface TrimmingPolicy {
  /** The number of newest tool outputs that are kept. Each older output is summarized once. Defaults to 5. */
  readonly toolOutputs?: number | undefined;
  /**
   * The number of newest messages that are kept. One user message replaces all older messages. System messages are kept
   * and do not count. A call is never separated from its result. Defaults to 50.
   */
  readonly messages?: number | undefined;
  /** Defaults to a summarizer that keeps the start of each text. */
  readonly summarize?: Summarizer | undefined;
}

const trimmingPolicySchema: z.ZodType<TrimmingPolicy> = strictOptions(() => ({
  toolOutputs: integerFrom(0).optional(),
  messages: integerFrom(0).optional(),
  summarize: functionSchema<Summarizer>().optional(),
}));
