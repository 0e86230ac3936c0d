import { z } from "zod";
import { HaltAt } from "../worker/WorkerOptions.ts";

/** What one start of the import is told, as JSON in its only argument. */
export const ImportStart = z.object({
  /** Holds agent and database. */
  directory: z.string(),
  csvFile: z.string(),
  /** Roll back to this checkpoint instead of importing. */
  rollBackTo: z.string().optional(),
  /** Where it stands still or dies: before or after the effect of `signUp`, or of `removal`, its inverse. */
  haltAt: HaltAt.optional(),
});
export type ImportStart = z.input<typeof ImportStart>;
