import { z } from "zod";
import type { StoragePlace } from "../../storage/engines/storageAt.ts";

/** Inside a tool, before or after its effect; or inside the model. */
export const Place = z.enum(["before", "after", "model"]);
export type Place = z.infer<typeof Place>;

/** Which place: of all, or of those in one tool. */
export const HaltAt = z.object({
  place: Place.optional(),
  tool: z.string().optional(),
  /** Which of these the process passes, from 1. */
  number: z.int().min(1).default(1),
  /** Instead of standing still it sends SIGKILL to itself: nothing that is under way gets any further. */
  dies: z.boolean().default(false),
});

/** What one start of the worker is told, as JSON in its only argument. */
export const WorkerOptions = z.object({
  /** Holds the agent, the ledger and the trace. */
  directory: z.string(),
  /** Whether the model's own tool-call ids begin anew in each answer, or are new in each. */
  toolCallIds: z.enum(["repeating", "unique"]),
  /** Stands still at one of the places it passes, inside a tool or the model; absent: nowhere. */
  haltAt: HaltAt.optional(),
  /** The tool without a declared effect is declared idempotent: what a person does who settled a call in doubt. */
  settled: z.boolean().default(false),
  /** `checkpoints`: a three-method storage, which records no tool call. */
  storage: z.enum(["whole", "checkpoints"]).default("whole"),
  /** Where the agent is kept; absent: in files below the directory. */
  place: z.custom<StoragePlace>().optional(),
  /** Absent: the default of the storage. */
  leaseMs: z.int().min(1).optional(),
  /** Asks again, as often as it takes, while another process has the agent. */
  patient: z.boolean().default(false),
});
export type WorkerOptions = z.infer<typeof WorkerOptions>;
export type WorkerStart = z.input<typeof WorkerOptions>;
