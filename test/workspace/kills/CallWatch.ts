import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { linesOfCall } from "./linesOfCall.ts";
import type { TraceFile } from "./trace/TraceFile.ts";
import type { Place, TraceLine } from "./trace/TraceLine.ts";

/** Where a process is to be killed: at a call to the file system after it enters a place, or by its parent, which it tells. */
export interface Stop {
  readonly place: Place;
  /** How often it enters the place before. */
  readonly passes: number;
  /** Absent: it tells its parent. */
  readonly calls?: number;
}

type Call = (this: unknown, ...given: unknown[]) => unknown;

const names = [
  "open",
  "write",
  "writev",
  "writeFile",
  "appendFile",
  "fsync",
  "fdatasync",
  "close",
  "link",
  "symlink",
  "rename",
  "unlink",
  "mkdir",
  "rmdir",
  "rm",
  "chmod",
  "lstat",
];

/** Watches the calls of this process to the file system, traces what the library does to the files, and ends the process. */
export class CallWatch {
  readonly #root: string;
  readonly #trace: TraceFile;
  readonly #stop: Stop | undefined;
  #passed = 0;
  #calls = 0;
  #isArmed = false;
  #isQuiet = false;
  #place: Place = "run";

  constructor(root: string, trace: TraceFile, stop: Stop | undefined) {
    this.#root = root;
    this.#trace = trace;
    this.#stop = stop;
  }

  async install(): Promise<void> {
    const probe = await fs.promises.open(process.execPath);
    const handles = Object.getPrototypeOf(probe) as object;
    await probe.close();
    for (const name of names) {
      this.#wrap(fs, name, name);
      this.#wrap(fs, `${name}Sync`, name);
      this.#wrap(fs.promises, name, name);
    }
    for (const name of ["write", "writeFile", "sync", "datasync", "chmod"]) this.#wrap(handles, name, "");
    syncBuiltinESMExports();
  }

  /** What it does now. @returns what it did before. */
  enter(place: Place): Place {
    const before = this.#place;
    this.#place = place;
    this.#trace.add({ kind: "enters", place });
    if (place === this.#stop?.place && this.#passed++ === this.#stop.passes) {
      if (this.#stop.calls === undefined) fs.writeSync(1, "here\n");
      this.#isArmed = true;
    }
    return before;
  }

  /** Calls in it are not those of the library. */
  quietly<Result>(action: () => Result): Result {
    this.#isQuiet = true;
    try {
      return action();
    } finally {
      this.#isQuiet = false;
    }
  }

  /** @param calledAs by which name it is in the trace; empty: it is not. */
  #wrap(target: object, name: string, calledAs: string): void {
    const functions = target as Record<string, Call>;
    const call = functions[name];
    if (typeof call !== "function") return;
    const passing = (): void => this.#count();
    const lines = (given: readonly unknown[]) =>
      this.#isQuiet ? [] : linesOfCall(this.#root, { name: calledAs, given });
    const add = (line: TraceLine): void => this.#trace.add(line);
    functions[name] = function (this: unknown, ...given) {
      passing();
      const [before, after] = lines(given);
      if (before) add(before);
      const result = call.apply(this, given);
      if (after && result instanceof Promise) void result.then(() => add(after)).catch(() => {});
      else if (after) add(after);
      return result;
    };
  }

  #count(): void {
    if (this.#isArmed && this.#stop?.calls === ++this.#calls) process.kill(process.pid, "SIGKILL");
  }
}
