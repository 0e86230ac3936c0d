import { z } from "zod";
import type { FileReservation } from "../checkpoint/status/FileReservation.ts";

/** What a task is created from. */
export interface NewTask {
  /** The id of the agent that it drives. Default: a random one. */
  readonly taskId?: string | undefined;
  /** What kind of task it is: a worker chooses the agent by it. */
  readonly taskName: string;
  /** What its agent is run with: any storable value. */
  readonly inputRequest: unknown;
  /** An integer; the higher one goes first. Default 0. */
  readonly priority?: number | undefined;
  /** For people and their tools; nothing here acts on it. */
  readonly estimatedComplexity?: "low" | "medium" | "high" | undefined;
  /** The files that it will read and write. A worker reserves them together before it starts. Default: none. */
  readonly reserves?: readonly FileReservation[] | undefined;
}

export const newTaskSchema: z.ZodType<NewTask> = z.strictObject({
  taskId: z.string().optional(),
  taskName: z.string().min(1),
  inputRequest: z.unknown(),
  priority: z.int().optional(),
  estimatedComplexity: z.enum(["low", "medium", "high"]).optional(),
  reserves: z.array(z.strictObject({ path: z.string().min(1), operation: z.enum(["read", "write"]) })).optional(),
});
