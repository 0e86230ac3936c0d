/** What a call to a simulated file system rejects with: an error with the system's `code`, as Node's own are. */
export class SimulatedSystemError extends Error {
  /** Such as `ENOENT`. */
  readonly code: string;
  /** The call, such as `link`. */
  readonly syscall: string;
  readonly path: string;

  constructor(code: string, syscall: string, path: string) {
    // Most are expected, and a stack is what costs most; those of Node have none either.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(`${code}: ${syscall} "${path}" in a simulated file system`);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "SimulatedSystemError";
    this.code = code;
    this.syscall = syscall;
    this.path = path;
  }
}
