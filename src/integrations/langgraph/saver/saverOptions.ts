import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
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
   * Detects unchanged items of lists and maps. `"fields"` compares the direct fields of an object and the whole content
   * of a message. It does not detect changes that a graph makes in place deeper in other objects. `"deep"` compares the
   * whole content. Defaults to `"fields"`.
   */
  readonly compare?: "fields" | "deep" | undefined;
  /**
   * Decides about an interrupted call of a durable tool if the effect and the probe of the tool do not decide. Defaults
   * to `"ask"`: the graph rejects with ToolCallInDoubtError until `settleToolCall` is called.
   */
  readonly onToolCallInDoubt?: OnToolCallInDoubt | undefined;
  /** Reports saves, calls and prunings, for example to `openTelemetry()`. Defaults to no telemetry. */
  readonly telemetry?: Telemetry | undefined;
}

/** Options of `prune`. */
export interface ThreadPruneOptions {
  /** The number of root graph checkpoints to keep, at least 1. Later checkpoints of subgraphs are kept as well. */
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
