import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MergeVersions } from "../../../src/workspace/merge/MergeResult.ts";

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
    const { status, stdout, error } = spawnSync("git", ["merge-file", "-p", ...labels, "ours", "base", "theirs"], {
      cwd: this.#folder,
      env: { PATH: process.env["PATH"], GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" },
      maxBuffer: 2 ** 26,
      encoding: "utf8",
    });
    if (status === null || status > 127) throw new Error("git merge-file failed", { cause: error ?? status });
    return { conflicts: status, text: stdout };
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
