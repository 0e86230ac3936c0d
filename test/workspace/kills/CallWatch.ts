import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { relative } from "node:path";
import { stagedFor } from "./paths.ts";
import type { TraceFile } from "./TraceFile.ts";
import type { Place, TraceLine } from "./TraceLine.ts";

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

  #wrap(target: object, name: string, kind: string): void {
    const functions = target as Record<string, Call>;
    const call = functions[name];
    if (typeof call !== "function") return;
    const passing = (): void => this.#count();
    const lines = (given: readonly unknown[]) => (this.#isQuiet ? [] : this.#linesOf(kind, given));
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

  #linesOf(kind: string, [first, second]: readonly unknown[]): readonly TraceLine[] {
    const path = this.#pathOf(first);
    const other = this.#pathOf(second);
    if (path === undefined) return [];
    const staged = stagedFor(path);
    if (kind === "lstat" && staged === undefined) return [{ kind: "looks", path }];
    if (kind === "open" && staged !== undefined && second !== fs.constants.O_RDONLY)
      return [{ kind: "stages", name: path }];
    if (kind === "symlink" && other !== undefined) return [{ kind: "stages", name: other }];
    if (kind === "rename" && staged !== undefined && other !== undefined) return replacement(other, true);
    return kind === "unlink" && staged === undefined ? replacement(path, false) : [];
  }

  /** Relative to the root; `undefined`: outside. */
  #pathOf(given: unknown): string | undefined {
    if (typeof given !== "string") return undefined;
    const [, handle, rest = ""] = /^(\/proc\/self\/fd\/\d+)(.*)$/.exec(given) ?? [];
    try {
      const path = handle === undefined ? given : `${fs.readlinkSync(handle)}${rest}`;
      const inside = relative(this.#root, path);
      return inside.startsWith("..") || !path.startsWith("/") ? undefined : inside;
    } catch {
      return undefined;
    }
  }
}

function replacement(path: string, staged: boolean): readonly TraceLine[] {
  return [
    { kind: "replaces", path, staged },
    { kind: "replaced", path, staged },
  ];
}
