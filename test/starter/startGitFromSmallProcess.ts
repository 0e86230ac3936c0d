import childProcess from "node:child_process";
import { syncBuiltinESMExports } from "node:module";
import { basename } from "node:path";
import { soak } from "../soak/cases.ts";
import { Starter } from "./Starter.ts";

type Ends = (error: object | null, output: Buffer, complaint: Buffer) => void;
type Options = Readonly<Record<string, unknown>> & { readonly signal?: AbortSignal };

const patched = Symbol.for("agent-persistence.test.startsGit");
const direct = childProcess.execFile;
const user = process.geteuid?.();

/** Whether the library itself starts a program with these arguments of `execFile`, and the user is the starter's. */
function isGit([file, , options, ends]: readonly unknown[]): boolean {
  const isOfLibrary = (options as { readonly encoding?: unknown } | undefined)?.encoding === "buffer";
  return basename(String(file)) === "git" && isOfLibrary && typeof ends === "function" && process.geteuid?.() === user;
}

/** Runs the git of the library in the small process. A soak starts it directly, as users do. */
if (process.platform === "linux" && !soak && !Object.hasOwn(direct, patched)) {
  const execFile = (...args: readonly unknown[]): unknown => {
    if (!isGit(args)) return Reflect.apply(direct, childProcess, args);
    const [file, given, { signal, ...options }, ends] = args as [string, readonly string[], Options, Ends];
    const run = (input?: string | Uint8Array): void =>
      Starter.shared().run({ file, args: given, options, input }, signal, ({ error, output, complaint }) =>
        ends(error && Object.assign(new Error(error.message), error), output, complaint),
      );
    return { stdin: { on: () => undefined, end: run } };
  };
  // Keeps `promisify.custom`.
  Object.defineProperties(execFile, Object.getOwnPropertyDescriptors(direct));
  Object.defineProperty(execFile, patched, { value: true });
  Object.assign(childProcess, { execFile });
  syncBuiltinESMExports();
}
