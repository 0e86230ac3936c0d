import type { FileSystem, OpenFile } from "../../node/FileSystem.ts";
import { integerFrom } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/strictOptions.ts";
import { z } from "zod";

/**
 * How a call goes wrong. An error code: it rejects; a write has then taken half of its bytes, and a sync can be tried
 * again. `short write`: a write takes half of its bytes and says so. `lying sync`: a sync reports `EIO`, what it was to
 * make durable never will be, and later syncs report success.
 */
export type FaultKind = "EIO" | "ENOSPC" | "EMFILE" | "EACCES" | "short write" | "lying sync";

/** A fault to inject. */
export interface Fault {
  readonly kind: FaultKind;
  /** The number of the call, from 1. Kinds of one operation alone pass over calls of others. */
  readonly call: number;
  /** True: every later call fails too. Default: this one alone. */
  readonly fromThenOn?: boolean;
}

export const faultSchema: z.ZodType<Fault> = strictOptions({
  kind: z.enum(["EIO", "ENOSPC", "EMFILE", "EACCES", "short write", "lying sync"]),
  call: integerFrom(1),
  fromThenOn: z.boolean().exactOptional(),
});

/** The calls of a `FileSystem` and of its open files. */
export type FileSystemOperation = keyof FileSystem | Exclude<keyof OpenFile, "writeSynced">;

/** A call that was made. */
export interface FileSystemCall {
  readonly operation: FileSystemOperation;
  readonly path: string;
}

/** Whether a fault strikes a call. */
export function strikes(
  { kind, call, fromThenOn = false }: Fault,
  number: number,
  operation: FileSystemOperation,
): boolean {
  if (number < call || (number > call && !fromThenOn)) return false;
  if (kind === "short write") return operation === "write";
  return kind !== "lying sync" || operation === "fdatasync" || operation === "fsync";
}

/** The calls to a file system, and which of them fail. */
export class FaultyCalls {
  readonly made: FileSystemCall[] = [];
  fault: Fault | undefined;

  /** A call begins. */
  begin(operation: FileSystemOperation, path: string): void {
    const fault = this.next(operation, path);
    if (fault !== undefined) throw new SimulatedSystemError(fault, operation, path);
  }

  /** The same for a call that does something before it fails. */
  next(operation: FileSystemOperation, path: string): FaultKind | undefined {
    const number = this.made.push({ operation, path });
    return this.fault && strikes(this.fault, number, operation) ? this.fault.kind : undefined;
  }
}

/** What a call to a simulated file system rejects with: an error with the system's `code`, as Node's own are. */
export class SimulatedSystemError extends Error {
  constructor(
    /** Such as `ENOENT`. */
    readonly code: string,
    /** The call, such as `link`. */
    readonly syscall: string,
    readonly path: string,
  ) {
    // Most are expected, and a stack is what costs most; those of Node have none either.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(`${code}: ${syscall} "${path}" in a simulated file system`);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "SimulatedSystemError";
  }
}
