import { type SerializerProtocol, getCheckpointId } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { type OnToolCallInDoubt, onToolCallInDoubtSchema } from "../../../doubt/ToolCallInDoubt.ts";
import { NotSupportedError } from "../../../errors/storageErrors.ts";
import { checkSchema, strictOptions } from "../../../internal/options/checkSchema.ts";
import { integerFrom, objectWithMethods } from "../../../internal/options/optionSchemas.ts";
import {
  type PersistenceStorageProvider,
  providerSchema,
  type LogStorage,
  offersLog,
} from "../../../storage/PersistenceStorageProvider.ts";
import { type Telemetry, telemetrySchema } from "../../../telemetry/Telemetry.ts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { InvalidInputError } from "../../../errors/agentErrors.ts";

/** Options of a `PersistenceSaver`. */
export interface PersistenceSaverOptions {
  /** The storage of the threads: any storage with a log, such as `new FilePersistenceStorageProvider()`. */
  readonly storage: PersistenceStorageProvider<never> & LogStorage;
  /**
   * Serializes values. Defaults to a serializer that restores each value exactly and rejects values that it cannot
   * restore. A thread can be read only with the serializer that stored it.
   */
  readonly serde?: SerializerProtocol | undefined;
  /**
   * How unchanged items of lists and maps are found. `"fields"` compares the direct fields of an object, and the whole
   * content of a message. `"fields"` misses a change that a graph makes deeper inside another object. `"deep"` compares
   * the whole content. Defaults to `"fields"`.
   */
  readonly compare?: "fields" | "deep" | undefined;
  /**
   * Decides about an interrupted call if the effect and the probe of its tool do not. With the default `"ask"`, the
   * graph rejects with ToolCallInDoubtError until `settleToolCall` is called.
   */
  readonly onToolCallInDoubt?: OnToolCallInDoubt | undefined;
  /** Reports saves, calls and prunings, for example to `openTelemetry()`. Defaults to no telemetry. */
  readonly telemetry?: Telemetry | undefined;
}

/** Options of `prune`. */
export interface ThreadPruneOptions {
  /** How many checkpoints of the root graph to keep, at least 1. Later checkpoints of subgraphs are kept as well. */
  readonly keep: number;
}

const schema = strictOptions(() => ({
  storage: providerSchema,
  serde: objectWithMethods<SerializerProtocol>("dumpsTyped", "loadsTyped").optional(),
  compare: z.enum(["fields", "deep"]).optional(),
  onToolCallInDoubt: onToolCallInDoubtSchema.optional(),
  telemetry: telemetrySchema.optional(),
}));

/** @throws InvalidInputError @throws NotSupportedError for a storage without a log */
export function checkedOptions(options: PersistenceSaverOptions): PersistenceSaverOptions {
  checkSchema(schema, options, "options of a PersistenceSaver");
  const { storage } = options;
  if (!offersLog(storage) || storage.log.capabilities.keeps !== undefined)
    throw new NotSupportedError("PersistenceSaver", "a storage with a log");
  return options;
}

const pruneSchema = strictOptions(() => ({ keep: integerFrom(1) }));

/** @throws InvalidInputError */
export function checkedPruning(options: ThreadPruneOptions): ThreadPruneOptions {
  checkSchema(pruneSchema, options, "options of prune");
  return options;
}

interface ThreadConfig {
  readonly threadId: string | undefined;
  /** `undefined` means the root graph, or any graph when listing. */
  readonly namespace: string | undefined;
  /** `undefined` means the latest checkpoint. */
  readonly checkpointId: string | undefined;
}

/** @throws InvalidInputError if a field is not a string */
export function threadConfig(config: RunnableConfig): ThreadConfig {
  const configurable: Readonly<Record<string, unknown>> = config.configurable ?? {};
  return {
    threadId: textIn(configurable, "thread_id"),
    namespace: textIn(configurable, "checkpoint_ns"),
    checkpointId: textIn({ checkpoint_id: getCheckpointId(config) }, "checkpoint_id") || undefined,
  };
}

/** @throws InvalidInputError if the config names no thread */
export function requiredThread({ threadId }: ThreadConfig, what: string): string {
  if (threadId !== undefined) return threadId;
  throw invalid("thread_id", `a thread to store ${what} in, such as { configurable: { thread_id: "order-7" } }`);
}

/** @throws InvalidInputError if the value is not a thread id */
export function checkedThreadId(threadId: unknown): string {
  return textIn({ thread_id: threadId }, "thread_id") ?? "";
}

export function invalid(key: string, expected: string): InvalidInputError {
  return new InvalidInputError("config of a graph", [
    { path: `configurable.${key}`, expected: `expected ${expected}` },
  ]);
}

function textIn(configurable: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = configurable[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw invalid(key, `a string, received ${typeof value}`);
  if (key === "thread_id" && value === "") throw invalid(key, "a string that is not empty");
  return value;
}
