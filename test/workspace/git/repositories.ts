import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runSync } from "../../starter/runSync.ts";
import { temporaryFolder } from "../fixture.ts";

/** Commits and fetches start no second process that looks whether there is anything to clean up. */
const withoutUpkeep = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "maintenance.auto", GIT_CONFIG_VALUE_0: "false" };

/** A real repository, driven by the user's own git. */
export class TestRepository {
  readonly root: string;

  constructor(root = temporaryFolder()) {
    this.root = root;
  }

  /** A repository without commits: a copy of one that git has made. */
  static create(): TestRepository {
    const repository = new TestRepository();
    cpSync(emptyRepository(), join(repository.root, ".git"), { recursive: true });
    return repository;
  }

  /** Another work tree with this one as its origin. */
  clone(): TestRepository {
    const other = new TestRepository();
    this.git("clone", "--quiet", this.root, other.root);
    return other;
  }

  git(...args: readonly string[]): string {
    const who = ["GIT_AUTHOR", "GIT_COMMITTER"].flatMap((role) => [
      [`${role}_NAME`, "Ann"],
      [`${role}_EMAIL`, "a@b"],
    ]);
    const env = {
      PATH: process.env["PATH"],
      HOME: "/nowhere",
      GIT_CONFIG_NOSYSTEM: "1",
      ...Object.fromEntries(who),
      ...withoutUpkeep,
    };
    const options = { cwd: this.root, env, maxBuffer: 64 * 1024 * 1024 };
    const { error, output } = runSync({ file: "git", args, options });
    if (error !== null) throw new Error(error.message);
    return output.trim();
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  remove(path: string): void {
    rmSync(join(this.root, path));
  }

  /** @returns the id of the commit. */
  commit(files: Readonly<Record<string, string>>, message = "change"): string {
    for (const [path, content] of Object.entries(files)) this.write(path, content);
    this.git("add", "--all");
    this.git("commit", "--quiet", "--allow-empty", "--message", message);
    return this.#writtenHead() ?? this.git("rev-parse", "HEAD");
  }

  /** The commit of the branch that is checked out, if git has written it to a file of the usual place. */
  #writtenHead(): string | undefined {
    try {
      const [, branch = ""] = /^ref: (.+)\n$/.exec(readFileSync(join(this.root, ".git/HEAD"), "utf8")) ?? [];
      return /^[0-9a-f]{40,64}$/m.exec(readFileSync(join(this.root, ".git", branch), "utf8"))?.[0];
    } catch {
      return undefined;
    }
  }
}

let made: TestRepository | undefined;

/** The folder of git in a repository that is made once. */
function emptyRepository(): string {
  if (made === undefined) {
    const folder = mkdtempSync(join(tmpdir(), "agent-persistence-git-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    made = new TestRepository(folder);
    made.git("init", "--quiet", "--template=", "--initial-branch=main");
  }
  return join(made.root, ".git");
}

/** Twenty numbered lines, some of them changed. */
export function lines(changed: Readonly<Record<number, string>> = {}): string {
  return Array.from({ length: 20 }, (_, index) => `${changed[index + 1] ?? `line ${index + 1}`}\n`).join("");
}
