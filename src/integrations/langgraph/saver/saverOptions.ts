import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { type OnToolCallInDoubt, onToolCallInDoubtSchema } from "../../../doubt/ToolCallInDoubt.ts";
import { NotSupportedError } from "../../../errors/storage/NotSupportedError.ts";
import { checkSchema } from "../../../internal/options/checkSchema.ts";
import { integerFrom, objectWithMethods } from "../../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../../internal/options/strictOptions.ts";
import { type LogStorage, offersLog } from "../../../storage/LogStorage.ts";
import type { Telemetry } from "../../../telemetry/Telemetry.ts";
import { telemetrySchema } from "../../../telemetry/telemetrySchema.ts";
import { type PersistenceStorageProvider, providerSchema } from "../../../storage/PersistenceStorageProvider.ts";

/** Options of a `PersistenceSaver`. */
export interface PersistenceSaverOptions {
  /** Where threads are stored: any storage with a log, such as `new FilePersistenceStorageProvider()`. */
  readonly storage: PersistenceStorageProvider<never> & LogStorage;
  /**
   * Makes values storable. Default: one that restores what it stores, and refuses the rest. Data of another serializer
   * cannot be read with this one.
   */
  readonly serde?: SerializerProtocol | undefined;
  /**
   * How to recognize an unchanged item of a list or a map. `fields` compares its own fields with those that it had, and
   * everything within a message. `deep` compares the whole content. `fields` misses a change that the graph made in place,
   * deeper within an object that is not a message. Defaults to `fields`.
   */
  readonly compare?: "fields" | "deep" | undefined;
  /**
   * Decides about calls of durable tools that began and whose end is not recorded, unless their effect or their probe does. Default
   * `"ask"`: the graph rejects with ToolCallInDoubtError, until `settleToolCall` is called.
   */
  readonly onToolCallInDoubt?: OnToolCallInDoubt | undefined;
  /** Shows what is saved, called and pruned, such as `openTelemetry()` of `agent-persistence/otel`. Default: nothing is shown. */
  readonly telemetry?: Telemetry | undefined;
}

/** How many checkpoints a pruning keeps. */
export interface ThreadPruneOptions {
  /** The last checkpoints of the root graph that stay, with what its subgraphs stored since. At least 1. */
  readonly keep: number;
}

const schema = strictOptions({
  storage: providerSchema,
  serde: objectWithMethods<SerializerProtocol>("dumpsTyped", "loadsTyped").optional(),
  compare: z.enum(["fields", "deep"]).optional(),
  onToolCallInDoubt: onToolCallInDoubtSchema.optional(),
  telemetry: telemetrySchema.optional(),
});

/** @throws InvalidInputError; NotSupportedError for a storage that keeps no log. */
export function checkedOptions(options: PersistenceSaverOptions): PersistenceSaverOptions {
  checkSchema(schema, options, "options of a PersistenceSaver");
  const { storage } = options;
  if (!offersLog(storage) || storage.log.capabilities.keeps !== undefined)
    throw new NotSupportedError("PersistenceSaver", "a storage with a log");
  return options;
}

const pruneSchema = strictOptions({ keep: integerFrom(1) });

/** @throws InvalidInputError */
export function checkedPruning(options: ThreadPruneOptions): ThreadPruneOptions {
  checkSchema(pruneSchema, options, "options of prune");
  return options;
}
