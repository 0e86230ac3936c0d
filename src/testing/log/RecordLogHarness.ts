import { checkSchema } from "../../internal/options/checkSchema.ts";
import { customSchema, objectWithMethods } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import type { LogCapabilities, OwnedLog, RecordLog } from "../../storage/RecordLog.ts";
import { functionOrLeftOut, type LeftOut } from "../support/LeftOut.ts";
import type { z } from "zod";

/**
 * A log to be tested, with what else the suite does to it. Each member is a function, or `{ leftOut }` with the reason
 * why this storage has no such thing: the tests that need it tell `onLeftOut` the member and the reason.
 */
export interface RecordLogHarness {
  /** Holds nothing yet. */
  readonly log: RecordLog;
  /**
   * Another instance on the same data, as a new process would have. Where `processes` is `"one"` it may close the first;
   * else the first stays in use. May not be left out where `durable` is true or `processes` is `"many"`.
   */
  readonly reopen: (() => RecordLog | PromiseLike<RecordLog>) | LeftOut;
  /**
   * Lets that many milliseconds pass for all instances, but not for an owner that was made silent. Resolves when they have
   * done what fell due, such as renewing a lease: until then no more time passes. Left out: no instance looks at a clock.
   */
  readonly advance: ((ms: number) => void | PromiseLike<void>) | LeftOut;
  /**
   * From now on this owner does not renew, as if its process had been stopped. Its lease runs out for other instances, at
   * once or as they see time pass. Its methods can still be called: the process may wake up. May not be left out where
   * `processes` is `"many"`.
   */
  readonly silence: ((owned: OwnedLog) => void | PromiseLike<void>) | LeftOut;
  /** Changes one stored byte of the append at this position, past the log. Which byte is up to the harness. */
  readonly alter: ((agentId: string, position: number) => void | PromiseLike<void>) | LeftOut;
  /** Changes one stored byte of a blob, past the log. Absent: the tests of altered blobs are left out, and say so. */
  readonly alterBlob?: ((agentId: string, reference: string) => void | PromiseLike<void>) | LeftOut | undefined;
  /** The next write is carried out, but the log gets an error of the driver for an answer. Only that one. */
  readonly loseAnswer: (() => void | PromiseLike<void>) | LeftOut;
}

/** What the suite needs to know of {@link RecordLogHarness} that is no function. */
export const noAlterBlob: LeftOut = { leftOut: "the harness has none" };

/** @throws InvalidInputError names what is missing, and why it may not be left out. */
export function checkLogHarness(made: unknown): asserts made is RecordLogHarness {
  const { log } = Object(made) as Partial<RecordLogHarness>;
  const { durable, processes } = (Object(log) as Partial<RecordLog>).capabilities ?? ({} as Partial<LogCapabilities>);
  const many = processes === "many" && 'a function, as capabilities.processes is "many"';
  const kept = durable === true && "a function, as capabilities.durable is true";
  const harness = strictOptions({
    log: objectWithMethods<RecordLog>("open", "read", "list", "owner", "requestStop", "close"),
    reopen: required(kept || many) ?? functionOrLeftOut,
    advance: functionOrLeftOut,
    silence: required(many) ?? functionOrLeftOut,
    alter: functionOrLeftOut,
    alterBlob: functionOrLeftOut.optional(),
    loseAnswer: functionOrLeftOut,
  });
  checkSchema(harness, made, "harness of a log");
}

function required(why: string | false): z.ZodType | undefined {
  return why === false ? undefined : customSchema(why, (value) => typeof value === "function");
}
