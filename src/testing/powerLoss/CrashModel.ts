import { z } from "zod";
import { integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";

/**
 * What a crash leaves.
 *
 * - `kill`: the process ended. Everything done is there, and what was not synced can still be lost later.
 * - `amnesia`: power was lost; only what was synced is there.
 * - `metadata first`: all names are there; data that was not synced is missing, zeros, or what the device held before.
 * - `data first`: all data is there; names that were not synced are not.
 * - `weak`: any part of what was not synced, in the order it was done; writes in sectors of 512 bytes.
 */
export type CrashModel = "kill" | "amnesia" | "metadata first" | "data first" | "weak";

const crashModels: readonly CrashModel[] = ["kill", "amnesia", "metadata first", "data first", "weak"];

/** Which crash states to make. */
export interface CrashOptions {
  /** Default: all. */
  readonly models?: readonly CrashModel[] | undefined;
  /** `weak` makes all combinations when they are no more than this many. Default 80. */
  readonly exhaustiveUpTo?: number | undefined;
  /** How many of them it makes otherwise, chosen at random. Default 40. */
  readonly samples?: number | undefined;
  /** What random choices follow from, together with the moment of the crash. Default 1. */
  readonly seed?: number | undefined;
}

export const crashOptionsSchema: z.ZodType<CrashOptions> = strictOptions({
  models: z.array(z.enum(crashModels)).optional(),
  exhaustiveUpTo: integerFrom(0).optional(),
  samples: integerFrom(0).optional(),
  seed: z.number().optional(),
});
