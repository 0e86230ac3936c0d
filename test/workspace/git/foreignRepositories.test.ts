import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { commitFiles } from "../../../src/workspace/git/commitFiles.ts";
import { revertCommit } from "../../../src/workspace/git/revertCommit.ts";
import { temporaryFolder, treeOf } from "../fixture.ts";
import { TestRepository } from "./repositories.ts";

const author = { name: "Agent", email: "agent@example.com" };

function commit(root: string, path = "a.txt") {
  writeFileSync(join(root, path), "the agent's\n");
  return commitFiles(root, { message: "by the agent", paths: [path], author });
}

function project(): TestRepository {
  const repository = TestRepository.create();
  repository.commit({ "a.txt": "a\n", "packages/one/a.txt": "a\n" });
  return repository;
}

/** Repositories that would make git write elsewhere. Each returns the folder that must stay as it is. */
const hostile: readonly (readonly [string, (own: TestRepository, other: TestRepository) => string])[] = [
  ["an object directory that is a link", (own) => moved(own, ".git/objects")],
  [
    "a directory of objects that is a link",
    (own) => {
      const outside = temporaryFolder();
      for (let at = 0; at < 256; at++) {
        const name = join(own.root, ".git/objects", at.toString(16).padStart(2, "0"));
        mkdirSync(name, { recursive: true });
        const target = join(outside, `${at}`);
        renameSync(name, target);
        symlinkSync(target, name);
      }
      return outside;
    },
  ],
  ["a directory of refs that is a link", (own) => moved(own, ".git/refs/heads")],
  ["a log of refs that is a link", (own) => moved(own, ".git/logs")],
  ["a `.git` that is a link", (own) => moved(own, ".git")],
  [
    "a `.git` file that names another repository",
    (own, other) => {
      rmSync(join(own.root, ".git"), { recursive: true });
      own.write(".git", `gitdir: ${join(other.root, ".git")}\n`);
      return join(other.root, ".git");
    },
  ],
  [
    "a setting that keeps the refs elsewhere",
    (own, other) => {
      const folder = join(other.root, ".git");
      // Older versions of git refuse a repository of format 1 with a setting that they do not know.
      const isKnown = /^git version (?:2\.5[4-9]|2\.[6-9]\d|[3-9])/.test(own.git("version"));
      const format = `[core]\n\trepositoryFormatVersion = ${isKnown ? 1 : 0}\n`;
      appendFileSync(join(own.root, ".git/config"), `${format}[extensions]\n\trefStorage = files://${folder}\n`);
      return folder;
    },
  ],
  [
    "a `.git` directory that shares the directory of another repository",
    (own, other) => {
      own.write(".git/commondir", join(other.root, ".git"));
      return join(other.root, ".git");
    },
  ],
  [
    "a `.git` file that names a directory with a false owner",
    (own, other) => {
      renameSync(join(own.root, ".git"), join(own.root, "own"));
      own.write(".git", "gitdir: own\n");
      own.write("own/gitdir", join(own.root, ".git"));
      own.write("own/commondir", join(other.root, ".git"));
      return join(other.root, ".git");
    },
  ],
];

/** Moves a folder out of a repository, and leaves a link. */
function moved(own: TestRepository, name: string): string {
  const target = join(temporaryFolder(), "moved");
  cpSync(join(own.root, name), target, { recursive: true });
  rmSync(join(own.root, name), { recursive: true });
  symlinkSync(target, join(own.root, name));
  return target;
}

describe.each(hostile)("%s", (_name, prepare) => {
  it("is refused and not written to", async () => {
    const own = project();
    const outside = prepare(own, project());
    const before = treeOf(outside);
    const refused = commit(own.root);
    await expect(refused).rejects.toMatchObject({ code: "git_failed", changed: "Nothing was changed." });
    await expect(refused).rejects.toThrow("the library does not write into this repository");
    expect(treeOf(outside)).toEqual(before);
  });
});

describe("a repository with its work tree", () => {
  it("is written from a subdirectory, a linked work tree and a submodule", async () => {
    const repository = project();
    const linked = new TestRepository(join(temporaryFolder(), "linked"));
    repository.git("worktree", "add", "--quiet", "-b", "linked", linked.root);
    const library = project();
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.root, "libs/one");
    const submodule = new TestRepository(join(repository.root, "libs/one"));
    const bare = join(temporaryFolder(), "bare.git");
    repository.git("clone", "--quiet", "--bare", repository.root, bare);
    const ofBare = new TestRepository(join(temporaryFolder(), "of-bare"));
    repository.git("--git-dir", bare, "worktree", "add", "--quiet", "-b", "more", ofBare.root);
    const byLink = new TestRepository(join(temporaryFolder(), "by-link"));
    symlinkSync(linked.root, byLink.root);
    for (const { root } of [
      repository,
      linked,
      submodule,
      ofBare,
      new TestRepository(join(linked.root, "packages/one")),
    ]) {
      const made = await commit(root);
      expect(made).toMatchObject({ made: true });
      await revertCommit(root, made);
    }
    expect(await commit(byLink.root)).toMatchObject({ made: true });
  });

  it("is written if links stay inside or its location is configured on purpose", async () => {
    const inside = project();
    renameSync(join(inside.root, ".git/objects"), join(inside.root, ".git/stored"));
    symlinkSync("stored", join(inside.root, ".git/objects"));
    expect(await commit(inside.root)).toMatchObject({ made: true });

    const apart = project();
    const elsewhere = join(temporaryFolder(), "repository");
    apart.git("init", "--quiet", `--separate-git-dir=${elsewhere}`);
    await expect(commit(apart.root)).rejects.toThrow("core.worktree");
    apart.git("config", "core.worktree", apart.root);
    expect(await commit(apart.root)).toMatchObject({ made: true });
    expect([readdirSync(apart.root).includes(".git"), readFileSync(join(apart.root, "a.txt"), "utf8")]).toEqual([
      true,
      "the agent's\n",
    ]);
  });

  it("is written if its path has a line break", async () => {
    const repository = new TestRepository(join(temporaryFolder(), 'a\n"b\\'));
    repository.write("a.txt", "a\n");
    repository.git("init", "--quiet", "--initial-branch=main");
    repository.commit({});
    const linked = new TestRepository(join(repository.root, "linked"));
    repository.git("worktree", "add", "--quiet", "-b", "linked", linked.root);
    for (const { root } of [repository, linked]) expect(await commit(root)).toMatchObject({ made: true });
  });

  it("is refused after a move until git repairs it", async () => {
    const repository = project();
    const home = temporaryFolder();
    repository.git("worktree", "add", "--quiet", "-b", "linked", join(home, "before"));
    renameSync(join(home, "before"), join(home, "after"));
    await expect(commit(join(home, "after"))).rejects.toThrow("git worktree repair");
    repository.git("worktree", "repair", join(home, "after"));
    expect(await commit(join(home, "after"))).toMatchObject({ made: true });
  });
});
