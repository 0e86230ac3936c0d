import { z } from "zod";

/** What one start of the worker is told, as JSON in its only argument. */
export const WorkerOptions = z.object({
  /** Holds the agent, the ledger and the trace. */
  directory: z.string(),
  /** Whether the model's own tool-call ids begin anew in each answer, or are new in each. */
  toolCallIds: z.enum(["repeating", "unique"]),
  /** Stands still at this place, counted from 1 over all places of the process; absent: nowhere. */
  haltAt: z.int().min(1).optional(),
  /** The tool without a declared effect is declared idempotent: what a person does who settled a call in doubt. */
  settled: z.boolean().default(false),
  /** `checkpoints`: a storage of three methods, which records no tool call. */
  storage: z.enum(["file", "checkpoints"]).default("file"),
});
export type WorkerOptions = z.infer<typeof WorkerOptions>;
export type WorkerStart = z.input<typeof WorkerOptions>;
