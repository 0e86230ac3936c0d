import { z } from "zod";
import { TaskStatus } from "../checkpoint/status/TaskStatus.ts";
import { numberFrom, clockSchema, functionSchema, integerFrom } from "../internal/options/optionSchemas.ts";

const timeoutMs = numberFrom(0).optional();

/** What the verbs of a `TaskManager` may be given. */
export const taskManagerSchemas = {
  options: z.object({
    clock: clockSchema.optional(),
    onEvent: functionSchema().optional(),
    onListenerError: functionSchema().optional(),
  }) as z.ZodType,
  filter: z.object({
    status: z.enum(TaskStatus).optional(),
    limit: integerFrom(0).optional(),
    page: integerFrom(1).optional(),
  }) as z.ZodType,
  pause: z.object({
    reason: z.string(),
    options: z.object({
      resumeInstructions: z.string().optional(),
      interrupt: z.boolean().optional(),
      timeoutMs,
    }),
  }) as z.ZodType,
  wait: z.object({
    waitingFor: z.enum(["user_input", "external_api", "human_approval"]),
    promptShownToUser: z.string(),
    timeoutAt: z.iso.datetime({ offset: true }).optional(),
  }) as z.ZodType,
  complete: z.object({ output: z.unknown(), verificationResults: z.array(z.unknown()).optional() }) as z.ZodType,
  fail: z.object({ recoverable: z.boolean().optional() }) as z.ZodType,
  cancel: z.object({ reason: z.string().optional(), options: z.object({ timeoutMs }) }) as z.ZodType,
} as const;
