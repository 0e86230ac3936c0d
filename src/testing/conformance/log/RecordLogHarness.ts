import { checkSchema, strictOptions } from "../../../internal/options/checkSchema.ts";
import { customSchema, objectWithMethods } from "../../../internal/options/optionSchemas.ts";
import type { LogCapabilities, OwnedLog, RecordLog } from "../../../storage/RecordLog.ts";
import { functionOrLeftOut, type LeftOut } from "../../support/Expectations.ts";
import type { z } from "zod";

/**
 * A log to test, with the controls that the suite needs. Each control is a function, or `{ leftOut }` with the reason
 * why this storage does not support it. Tests that need a missing control report the member and the reason to
 * `onLeftOut`.
 */
export interface RecordLogHarness {
  /** An empty log. */
  readonly log: RecordLog;
  /**
   * Returns another instance on the same data, as a new process would have it. With `processes: "one"`, this may close
   * the first instance. Otherwise the first instance stays in use. Required if `durable` is `true` or `processes` is
   * `"many"`.
   */
  readonly reopen: (() => RecordLog | PromiseLike<RecordLog>) | LeftOut;
  /**
   * Advances the time in milliseconds for all instances, except for a silent owner. Resolves after the instances finish
   * all due work, such as lease renewals. Leave it out if no instance uses a clock.
   */
  readonly advance: ((ms: number) => void | PromiseLike<void>) | LeftOut;
  /**
   * Stops the renewals of an owner, as if its process were suspended. For other instances, the lease expires
   * immediately or when their time advances. The methods of the owner must still work, because a suspended process may
   * continue. Required if `processes` is `"many"`.
   */
  readonly silence: ((owned: OwnedLog) => void | PromiseLike<void>) | LeftOut;
  /** Changes any stored byte of the append at this position, bypassing the log. */
  readonly alter: ((agentId: string, position: number) => void | PromiseLike<void>) | LeftOut;
  /** Changes any stored byte of a blob, bypassing the log. Without this control, tests of changed blobs are skipped. */
  readonly alterBlob?: ((agentId: string, reference: string) => void | PromiseLike<void>) | LeftOut | undefined;
  /** Executes the next write but returns a driver error to the log. Affects only one write. */
  readonly loseAnswer: (() => void | PromiseLike<void>) | LeftOut;
}

export const noAlterBlob: LeftOut = { leftOut: "the harness has none" };

/** @throws InvalidInputError for a missing member, with the reason why it is required. */
export function checkLogHarness(made: unknown): asserts made is RecordLogHarness {
  const { log } = Object(made) as Partial<RecordLogHarness>;
  const { durable, processes } = (Object(log) as Partial<RecordLog>).capabilities ?? ({} as Partial<LogCapabilities>);
  const many = processes === "many" && 'a function, as capabilities.processes is "many"';
  const kept = durable === true && "a function, as capabilities.durable is true";
  const harness = strictOptions(() => ({
    log: objectWithMethods<RecordLog>("open", "read", "list", "owner", "requestStop", "close"),
    reopen: required(kept || many) ?? functionOrLeftOut,
    advance: functionOrLeftOut,
    silence: required(many) ?? functionOrLeftOut,
    alter: functionOrLeftOut,
    alterBlob: functionOrLeftOut.optional(),
    loseAnswer: functionOrLeftOut,
  }));
  checkSchema(harness, made, "harness of a log");
}

function required(why: string | false): z.ZodType | undefined {
  return why === false ? undefined : customSchema(why, (value) => typeof value === "function");
}
