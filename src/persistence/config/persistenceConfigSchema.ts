import { z } from "zod";
import { atLeast, expected, someClock, someFunction, someText, withMethods } from "../../internal/optionSchemas.ts";
import type { PersistenceStorageProvider } from "../../storage/PersistenceStorageProvider.ts";
import { isAfterNode } from "../triggers/checkpointTriggers.ts";
import { inverseRetrySchema } from "../inverse/InverseRetry.ts";
import { retentionPolicySchema } from "./RetentionPolicy.ts";
import { RollbackToolRegistry } from "../inverse/RollbackToolRegistry.ts";
import { trimmingPolicySchema } from "./TrimmingPolicy.ts";

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
    name: someText,
    priority: z.enum(["critical", "high", "normal"]),
    isDue: someFunction(),
  })
  .refine(({ name, isDue }) => isDue === isAfterNode || !takenNames.includes(name), {
    path: ["name"],
    error: `Invalid input: expected another name than ${takenNames.join(", ")}, which events use for other things`,
  });

const participant = z.object({
  key: someText,
  plan: someFunction(),
  apply: someFunction(),
  describe: someFunction(),
});

const environment = z.object({
  workingDirectory: z.string(),
  hasDirectory: someFunction(),
  hashOf: someFunction(),
  lookUp: someFunction(),
});

/** What `install(Persistence)` may be given. */
export const persistenceConfigSchema: z.ZodType = z.object({
  storage: withMethods<PersistenceStorageProvider>(
    "getCheckpoints",
    "saveCheckpoint",
    "getLatestCheckpoint",
  ).optional(),
  enableAutomaticPersistence: z.boolean().optional(),
  triggers: z.array(trigger).optional(),
  rollbackToolRegistry: expected("a RollbackToolRegistry", (value) => value instanceof RollbackToolRegistry).optional(),
  participants: z.array(participant).optional(),
  onToolCallInDoubt: expected(
    '"ask", "retry" or a function',
    (value) => value === "ask" || value === "retry" || typeof value === "function",
  ).optional(),
  inverseRetry: inverseRetrySchema.optional(),
  abortGraceMs: atLeast(0).optional(),
  onEvent: someFunction().optional(),
  onListenerError: someFunction().optional(),
  maxCheckpointBytes: atLeast(1).optional(),
  trimming: trimmingPolicySchema.optional(),
  environment: environment.optional(),
  retention: retentionPolicySchema.optional(),
  clock: someClock.optional(),
});
