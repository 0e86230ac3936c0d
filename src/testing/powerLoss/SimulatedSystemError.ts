/** What a call to a simulated file system rejects with: an error with the system's `code`, as Node's own are. */
export class SimulatedSystemError extends Error {
  /** Such as `ENOENT`. */
  readonly code: string;
  /** The call, such as `link`. */
  readonly syscall: string;
  readonly path: string;

  constructor(code: string, syscall: string, path: string) {
    super(`${code}: ${syscall} "${path}" in a simulated file system`);
    this.name = "SimulatedSystemError";
    this.code = code;
    this.syscall = syscall;
    this.path = path;
  }
}
