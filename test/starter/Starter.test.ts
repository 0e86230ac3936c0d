import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { soak } from "../soak/cases.ts";
import { temporaryFolder } from "../workspace/fixture.ts";
import { runSync } from "./runSync.ts";

const options = { env: { PATH: process.env["PATH"], HOME: "/nowhere" } };
/** Prints the parent of git. */
const parent = ["-c", "alias.parent=!grep PPid /proc/$PPID/status", "parent"];

/** Runs git as the library does. */
function git(args: readonly string[], { input, ...own }: { input?: string; signal?: AbortSignal } = {}) {
  return new Promise((resolve) => {
    const given = { ...options, ...own, encoding: "buffer" } as const;
    const child = execFile("git", args, given, (error, output, complaint) =>
      resolve([error?.code ?? 0, String(output), String(complaint)]),
    );
    child.stdin?.end(input);
  });
}

it.runIf(process.platform === "linux" && !soak)(
  "git runs in one small process, with its input, output, exit code and signal",
  async () => {
    const { output } = runSync({ file: "git", args: parent, options });
    expect(output).toMatch(/^PPid:\t\d+\n$/);
    expect(output).not.toContain(`\t${process.pid}\n`);
    expect(await git(parent)).toEqual([0, output, ""]);
    const id = "78981922613b2afb6025042ff6bd878ac1994e85\n";
    expect(await git(["hash-object", "--stdin"], { input: "a\n" })).toEqual([0, id, ""]);
    expect(await git(["none"])).toMatchObject([1, "", expect.stringContaining("not a git command")]);
    expect(runSync({ file: "git", args: ["none"], options }).error).toMatchObject({ code: 1, killed: false });
    const pipe = join(temporaryFolder(), "pipe");
    runSync({ file: "mkfifo", args: [pipe], options });
    const leaving = new AbortController();
    const waiting = git(["hash-object", "--no-filters", pipe], { signal: leaving.signal });
    leaving.abort(new Error("enough"));
    expect(await waiting).toEqual(["ABORT_ERR", "", ""]);
  },
);
