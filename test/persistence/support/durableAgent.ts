import {
  AIAgent,
  Persistence,
  type AnyTool,
  type CheckpointTrigger,
  type Clock,
  type InverseRetry,
  type Migration,
  type ListenerErrorHandler,
  type PersistenceListener,
  type OnToolCallInDoubt,
  type PersistenceStorageProvider,
  type PromptExecutor,
  type RetentionPolicy,
  type RollbackToolRegistry,
  type Strategy,
  type TrimmingPolicy,
} from "agent-persistence";
import type { RollbackParticipant } from "agent-persistence/feature";
import type { PruningSchedule } from "agent-persistence/task";
import { scriptedModel, SimulatedClock } from "agent-persistence/testing";

export interface DurableOptions {
  readonly tools?: readonly AnyTool[];
  readonly turns?: Parameters<typeof scriptedModel>[0];
  readonly model?: PromptExecutor;
  readonly registry?: RollbackToolRegistry;
  /** Default true. */
  readonly automatic?: boolean;
  readonly systemPrompt?: string;
  readonly maxIterations?: number;
  readonly toolTimeoutMs?: number;
  /** Default: one that stands still, of its own. */
  readonly clock?: Clock;
  readonly triggers?: readonly CheckpointTrigger[];
  readonly onEvent?: PersistenceListener;
  readonly onListenerError?: ListenerErrorHandler;
  readonly onToolCallInDoubt?: OnToolCallInDoubt;
  readonly trimming?: TrimmingPolicy;
  /** Default: three attempts, at once. */
  readonly inverseRetry?: InverseRetry;
  readonly retention?: RetentionPolicy;
  readonly retentionSchedule?: PruningSchedule;
  readonly participants?: readonly RollbackParticipant[];
  readonly migrations?: readonly Migration[];
  readonly sleepInProcessMs?: number;
}

/** An agent "a" as one process builds it. */
export function durableAgent(
  strategy: Strategy<string, string>,
  storage: PersistenceStorageProvider,
  options: DurableOptions = {},
): AIAgent<string, string> {
  const {
    tools = [],
    turns = [],
    automatic = true,
    registry,
    systemPrompt,
    maxIterations,
    onEvent,
    onListenerError,
    onToolCallInDoubt,
    trimming,
    clock = new SimulatedClock(),
    inverseRetry = { delayMs: 0 },
  } = options;
  return new AIAgent({
    id: "a",
    llmModel: "scripted",
    promptExecutor: options.model ?? scriptedModel(turns),
    strategy,
    tools,
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(maxIterations !== undefined && { maxIterations }),
    ...(options.toolTimeoutMs !== undefined && { toolTimeoutMs: options.toolTimeoutMs }),
  }).install(Persistence, {
    storage,
    enableAutomaticPersistence: automatic,
    clock,
    inverseRetry,
    ...(options.retention && { retention: options.retention }),
    ...(options.retentionSchedule && { retentionSchedule: options.retentionSchedule }),
    ...(options.participants && { participants: options.participants }),
    ...(options.sleepInProcessMs !== undefined && { sleepInProcessMs: options.sleepInProcessMs }),
    ...(options.migrations && { migrations: options.migrations }),
    ...(registry && { rollbackToolRegistry: registry }),
    ...(trimming && { trimming }),
    ...(options.triggers && { triggers: options.triggers }),
    ...(onEvent && { onEvent }),
    ...(onListenerError && { onListenerError }),
    ...(onToolCallInDoubt && { onToolCallInDoubt }),
  });
}

/** What ends a process in the middle of something, as a test's own. */
export class Stopped extends Error {}

/** Something that goes wrong until it is put right, over all processes of a test. */
export class Fault {
  #active = true;

  /** @throws Stopped while the fault is there. */
  strike(): void {
    if (this.#active) throw new Stopped("stopped");
  }

  repair(): void {
    this.#active = false;
  }

  /** Waits until a run stops at the fault, and repairs it. @throws any other error of the run. */
  async stops(run: Promise<unknown>): Promise<void> {
    const error: unknown = await run.catch((reason: unknown) => reason);
    if (!(error instanceof Stopped)) throw error;
    this.repair();
  }

  return(): void {
    this.#active = true;
  }
}
