import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MergeVersions } from "../../../src/workspace/merge/MergeResult.ts";
import { runSync } from "../../starter/runSync.ts";

export interface GitMerge {
  readonly conflicts: number;
  readonly text: string;
}

/** `git merge-file` in a folder of its own, outside any repository: the configuration of one would change the result. */
export class GitMergeFile implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "merge-file-"));

  merge(versions: MergeVersions<string>): GitMerge {
    for (const [name, text] of Object.entries(versions)) writeFileSync(join(this.#folder, name), text);
    const labels = ["-L", "OURS", "-L", "BASE", "-L", "THEIRS"];
    const args = ["merge-file", "-p", ...labels, "ours", "base", "theirs"];
    const env = { PATH: process.env["PATH"], GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" };
    const { error, output } = runSync({ file: "git", args, options: { cwd: this.#folder, env, maxBuffer: 2 ** 26 } });
    const status = error === null ? 0 : error.code;
    if (typeof status !== "number" || status > 127) throw new Error("git merge-file failed", { cause: error });
    return { conflicts: status, text: output };
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
