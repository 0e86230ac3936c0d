import { z } from "zod";
import { envelopeKeyOf } from "../../checkpoint/values/valueCodec.ts";
import type { StateData } from "../../checkpoint/status/StateData.ts";
import type { TaskStatus } from "../../checkpoint/status/TaskStatus.ts";
import { complexitySchema, reservationsSchema } from "./NewTask.ts";

const time = z.iso.datetime();
const count = z.int().nonnegative();
/** A long list is stored in a blob. */
const paths = z.custom<readonly string[]>(
  (value) => isTexts(value) || envelopeKeyOf(value) === "$blob",
  "a list of paths",
);

/** The data of each status. */
export const stateDataSchemas: { readonly [Status in TaskStatus]: z.ZodType<StateData[Status]> } = {
  queued: z.strictObject({
    taskId: z.string(),
    createdAt: time,
    priority: z.int(),
    estimatedComplexity: complexitySchema.exactOptional(),
    inputRequest: z.unknown(),
    reserves: reservationsSchema.exactOptional(),
  }),
  in_progress: z.strictObject({
    currentAgent: z.string(),
    currentStep: z.string(),
    iterationCount: count,
    startedAt: time,
    lastActivityAt: time,
    accumulatedContext: z.string(),
  }),
  paused: z.strictObject({
    pausedAt: time,
    pauseReason: z.string(),
    resumeInstructions: z.string().exactOptional(),
    snapshot: z.string(),
  }),
  waiting: z.strictObject({
    waitingFor: z.enum(["user_input", "external_api", "human_approval"]),
    promptShownToUser: z.string(),
    timeoutAt: time.exactOptional(),
  }),
  completed: z.strictObject({
    completedAt: time,
    finalOutput: z.unknown(),
    filesModified: paths,
    verificationResults: z.array(z.unknown()),
  }),
  failed: z.strictObject({
    failedAt: time,
    errorType: z.string(),
    errorMessage: z.string(),
    stackTrace: z.string().exactOptional(),
    recoverable: z.boolean(),
    retryCount: count,
  }),
  cancelled: z.strictObject({
    cancelledAt: time,
    reason: z.string().exactOptional(),
  }),
};

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
