import type { FileSystem, OpenFile } from "../../nodejs/FileSystem.ts";
import { integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";
import { z } from "zod";

/**
 * The kind of a fault. With an error code, the call rejects. A write then stores half of its bytes, and a sync may be
 * retried. `short write` stores half of the bytes and reports that number. `lying sync` rejects with `EIO`. Its data
 * never becomes durable, although later syncs report success.
 */
export type FaultKind = "EIO" | "ENOSPC" | "EMFILE" | "EACCES" | "short write" | "lying sync";

/** A fault to inject into a simulated file system. */
export interface Fault {
  readonly kind: FaultKind;
  /** The number of the call, counted from 1. If the fault is for one kind of operation, other calls are not counted. */
  readonly call: number;
  /** Whether all later calls also fail. Defaults to `false`. */
  readonly fromThenOn?: boolean;
}

export const faultSchema: z.ZodType<Fault> = strictOptions(() => ({
  kind: z.enum(["EIO", "ENOSPC", "EMFILE", "EACCES", "short write", "lying sync"]),
  call: integerFrom(1),
  fromThenOn: z.boolean().exactOptional(),
}));

/** The calls of a `FileSystem` and of its open files. */
export type FileSystemOperation = keyof FileSystem | Exclude<keyof OpenFile, "writeSynced">;

/** A call to a simulated file system. */
export interface FileSystemCall {
  readonly operation: FileSystemOperation;
  readonly path: string;
}

export function strikes(
  { kind, call, fromThenOn = false }: Fault,
  number: number,
  operation: FileSystemOperation,
): boolean {
  if (number < call || (number > call && !fromThenOn)) return false;
  if (kind === "short write") return operation === "write";
  return kind !== "lying sync" || operation === "fdatasync" || operation === "fsync";
}

export class FaultyCalls {
  readonly made: FileSystemCall[] = [];
  fault: Fault | undefined;

  begin(operation: FileSystemOperation, path: string): void {
    const fault = this.next(operation, path);
    if (fault !== undefined) throw new SimulatedSystemError(fault, operation, path);
  }

  /** Records a call and returns the fault for it, for calls that have an effect before they fail. */
  next(operation: FileSystemOperation, path: string): FaultKind | undefined {
    const number = this.made.push({ operation, path });
    return this.fault && strikes(this.fault, number, operation) ? this.fault.kind : undefined;
  }
}

/** The error of a call to the simulated file system, with a `code` like the errors of Node. */
export class SimulatedSystemError extends Error {
  constructor(
    /** For example `ENOENT`. */
    readonly code: string,
    /** For example `link`. */
    readonly syscall: string,
    readonly path: string,
  ) {
    // Skips the stack, which is expensive and which errors of Node also lack.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(`${code}: ${syscall} "${path}" in a simulated file system`);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "SimulatedSystemError";
  }
}
