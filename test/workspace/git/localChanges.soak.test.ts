import { appendFileSync, chmodSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkDrift } from "../../../src/workspace/drift/checkDrift.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { temporaryFolder } from "../fixture.ts";
import { lines, TestRepository } from "./repositories.ts";

/** A work tree, and the folder in it that the agent works in. */
interface Place {
  readonly repository: TestRepository;
  readonly folder?: string;
}

function origin(): TestRepository {
  const repository = TestRepository.create();
  const files = { "a.txt": lines(), "b.txt": lines(), "packages/one/c.txt": lines(), "packages/two/d.txt": lines() };
  repository.commit({ ...files, ".gitignore": "*.log\n" });
  repository.commit({ "b.txt": lines({ 1: "second" }) });
  return repository;
}

function cloned(...args: readonly string[]): TestRepository {
  const from = origin();
  from.git("config", "uploadpack.allowFilter", "true");
  const repository = new TestRepository();
  from.git("clone", "--quiet", ...args, `file://${from.root}`, repository.root);
  return repository;
}

function withSubmodule(): { readonly repository: TestRepository; readonly inner: TestRepository } {
  const library = origin();
  const repository = origin();
  repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.root, "library");
  repository.commit({});
  return { repository, inner: new TestRepository(join(repository.root, "library")) };
}

/** Changes of every kind, which most rows make. */
function change(repository: TestRepository, folder = ""): void {
  repository.write(`${folder}new.txt`, "new");
  repository.write(`${folder}debug.log`, "ignored");
  repository.write("a.txt", lines({ 3: "ours" }));
  repository.write("packages/one/c.txt", lines({ 3: "staged" }));
  repository.git("add", "packages/one/c.txt");
  repository.write("packages/one/c.txt", lines());
}

const table: readonly (readonly [string, () => Place])[] = [
  [
    "a full clone",
    () => {
      const repository = cloned();
      change(repository);
      return { repository };
    },
  ],
  [
    "a shallow clone",
    () => {
      const repository = cloned("--depth=1");
      change(repository);
      return { repository };
    },
  ],
  [
    "a partial clone",
    () => {
      const repository = cloned("--filter=blob:none");
      change(repository);
      return { repository };
    },
  ],
  [
    "a partial clone without trees",
    () => {
      const repository = cloned("--filter=tree:0");
      change(repository);
      return { repository };
    },
  ],
  [
    "a shallow clone of one branch without trees, whose remote is gone",
    () => {
      const repository = cloned("--filter=tree:0", "--depth=1");
      change(repository);
      repository.git("remote", "set-url", "origin", "file:///nowhere");
      return { repository };
    },
  ],
  [
    "a default branch trunk, and a topic without upstream",
    () => {
      const from = origin();
      from.git("branch", "--move", "trunk");
      const repository = from.clone();
      repository.git("checkout", "--quiet", "-b", "topic");
      change(repository);
      return { repository };
    },
  ],
  [
    "a sparse checkout",
    () => {
      const repository = cloned();
      repository.git("sparse-checkout", "set", "packages/one");
      repository.write("packages/one/c.txt", lines({ 3: "ours" }));
      return { repository };
    },
  ],
  [
    "a sparse index",
    () => {
      const repository = cloned();
      repository.git("sparse-checkout", "set", "--cone", "--sparse-index", "packages/one");
      repository.write("packages/one/c.txt", lines({ 3: "ours" }));
      return { repository };
    },
  ],
  [
    "a linked work tree",
    () => {
      const main = cloned();
      const repository = new TestRepository(join(temporaryFolder(), "linked"));
      main.git("worktree", "add", "--quiet", "-b", "side", repository.root);
      change(repository);
      return { repository };
    },
  ],
  [
    "a split index",
    () => {
      const repository = cloned();
      repository.git("update-index", "--split-index");
      change(repository);
      return { repository };
    },
  ],
  [
    "SHA-256",
    () => {
      const repository = new TestRepository();
      repository.git("init", "--quiet", "--object-format=sha256");
      repository.commit({ "a.txt": lines(), "packages/one/c.txt": lines() });
      change(repository);
      return { repository };
    },
  ],
  [
    "a package below the top",
    () => {
      const repository = cloned();
      change(repository, "packages/one/");
      return { repository, folder: "packages/one" };
    },
  ],
  [
    "info/exclude",
    () => {
      const repository = cloned();
      appendFileSync(join(repository.root, ".git/info/exclude"), "private.txt\n");
      repository.write("private.txt", "x");
      change(repository);
      return { repository };
    },
  ],
  [
    "core.excludesFile",
    () => {
      const repository = cloned();
      const rules = join(temporaryFolder(), "ignore");
      writeFileSync(rules, "*.swp\n");
      repository.git("config", "core.excludesFile", rules);
      repository.write("a.txt.swp", "x");
      change(repository);
      return { repository };
    },
  ],
  [
    "skip-worktree and assume-unchanged",
    () => {
      const repository = cloned();
      repository.git("update-index", "--skip-worktree", "a.txt");
      repository.git("update-index", "--assume-unchanged", "b.txt");
      repository.write("a.txt", "x");
      repository.write("b.txt", "x");
      return { repository };
    },
  ],
  [
    "core.fileMode=false",
    () => {
      const repository = cloned();
      repository.git("config", "core.fileMode", "false");
      chmodSync(join(repository.root, "a.txt"), 0o755);
      return { repository };
    },
  ],
  [
    "a file that was changed in the moment in which the index was written",
    () => {
      const repository = cloned();
      repository.git("config", "core.trustctime", "false");
      const moment = new Date("2026-01-01T00:00:00Z");
      const path = join(repository.root, "a.txt");
      utimesSync(path, moment, moment);
      repository.git("update-index", "a.txt");
      repository.write("a.txt", lines().replace("line 3", "LINE 3"));
      utimesSync(path, moment, moment);
      utimesSync(join(repository.root, ".git", "index"), moment, moment);
      return { repository };
    },
  ],
  [
    "a changed mode",
    () => {
      const repository = cloned();
      chmodSync(join(repository.root, "a.txt"), 0o755);
      return { repository };
    },
  ],
  [
    "line endings of the checkout",
    () => {
      const repository = cloned();
      repository.git("config", "core.autocrlf", "true");
      repository.remove("a.txt");
      repository.git("checkout", "--quiet", "a.txt");
      return { repository };
    },
  ],
  [
    "an unmerged file",
    () => {
      const repository = cloned();
      repository.git("checkout", "--quiet", "-b", "side", "HEAD~1");
      repository.commit({ "b.txt": lines({ 1: "other" }) });
      expect(() => repository.git("merge", "--quiet", "main")).toThrow("merge");
      return { repository };
    },
  ],
  [
    "a file that was renamed and staged",
    () => {
      const repository = cloned();
      repository.git("mv", "a.txt", "z.txt");
      return { repository };
    },
  ],
  [
    "a submodule without changes",
    () => {
      const { repository } = withSubmodule();
      change(repository);
      return { repository };
    },
  ],
  [
    "a submodule with another commit",
    () => {
      const { repository, inner } = withSubmodule();
      inner.commit({ "x.txt": "x" });
      return { repository };
    },
  ],
  [
    "a submodule with a changed file",
    () => {
      const { repository, inner } = withSubmodule();
      inner.write("a.txt", "x");
      return { repository };
    },
  ],
  [
    "a submodule with a new file",
    () => {
      const { repository, inner } = withSubmodule();
      mkdirSync(join(inner.root, "deep"));
      inner.write("deep/new.txt", "x");
      return { repository };
    },
  ],
  ...ignoring(".gitmodules", "all", ["file", "staged commit", "folder"]),
  ...ignoring(".gitmodules", "dirty", ["file", "commit"]),
  ...ignoring(".gitmodules", "untracked", ["new file"]),
  ...ignoring(".git/config", "none", ["file"], { ".gitmodules": "all" }),
  ...ignoring("diff.ignoreSubmodules", "all", ["commit"]),
  [
    "a submodule to ignore, whose .gitmodules is only in the index",
    () => {
      const { repository, inner } = withSubmodule();
      ignore(repository, ".gitmodules", "all");
      repository.remove(".gitmodules");
      inner.write("a.txt", "x");
      return { repository };
    },
  ],
];

/** Rows in which the changes of a submodule are ignored, wholly or in part. */
function ignoring(
  where: string,
  what: string,
  changes: readonly (keyof typeof changesWithin)[],
  others: Readonly<Record<string, string>> = {},
): readonly (readonly [string, () => Place])[] {
  return changes.map((change) => [
    `a submodule with ignore=${what} in ${where}${JSON.stringify(others)}: a ${change}`,
    () => {
      const { repository, inner } = withSubmodule();
      for (const [place, other] of Object.entries(others)) ignore(repository, place, other);
      ignore(repository, where, what);
      changesWithin[change](inner);
      if (change === "staged commit") repository.git("add", "library");
      return { repository };
    },
  ]);
}

const changesWithin = {
  file: (inner: TestRepository) => inner.write("a.txt", "x"),
  "new file": (inner: TestRepository) => inner.write("new.txt", "x"),
  commit: (inner: TestRepository) => void inner.commit({ "x.txt": "x" }),
  "staged commit": (inner: TestRepository) => void inner.commit({ "x.txt": "x" }),
  folder: (inner: TestRepository) => rmSync(inner.root, { recursive: true }),
};

function ignore(repository: TestRepository, where: string, what: string): void {
  if (where === "diff.ignoreSubmodules") return void repository.git("config", where, what);
  repository.git("config", "--file", where, "submodule.library.ignore", what);
  if (where === ".gitmodules") repository.commit({});
}

describe("local changes", () => {
  it.each(table)("the local changes equal git status: %s", async (_name, prepare) => {
    const { repository, folder = "" } = prepare();
    const { localFiles } = await checkDrift({ files: new WorkspaceFiles(join(repository.root, folder), 1e6) });
    const prefix = folder === "" ? "" : `${folder}/`;
    const listed = repository.git(
      "status",
      "--porcelain",
      "-z",
      "--untracked-files=all",
      "--no-renames",
      "--",
      folder || ".",
    );
    // The first entry may begin with a space, which the fixture cuts off.
    const paths = listed.split("\0").map((entry) => entry.replace(/^[ A-Z?]{1,2} /, "").slice(prefix.length));
    expect(localFiles).toEqual(paths.filter((path) => path !== "").toSorted());
  });
});
