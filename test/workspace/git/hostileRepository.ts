import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { temporaryFolder } from "../fixture.ts";
import { lines, TestRepository } from "./repositories.ts";

const hooks = `applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
  post-commit pre-rebase post-checkout post-merge pre-push pre-receive update post-update reference-transaction
  push-to-checkout pre-auto-gc post-rewrite post-index-change sendemail-validate fsmonitor-watchman`.split(/\s+/);

const programs = `core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy
  core.alternateRefsCommand diff.external diff.canary.command diff.canary.textconv filter.canary.clean
  filter.canary.smudge filter.canary.process merge.canary.driver gpg.program gpg.ssh.program gpg.x509.program
  credential.helper sequence.editor interactive.diffFilter pager.log pager.diff remote.origin.uploadpack
  remote.origin.receivepack remote.origin.vcs uploadpack.packObjectsHook trailer.canary.command difftool.canary.cmd
  mergetool.canary.cmd alias.rev-list alias.status alias.diff-files hook.canary.command
  hook.a=b.c.command`.split(/\s+/);

const settings: readonly (readonly [string, string])[] = [
  ["log.showSignature", "true"],
  ["commit.gpgSign", "true"],
  ["filter.canary.required", "true"],
  ["merge.conflictStyle", "diff3"],
  ["protocol.ext.allow", "always"],
  ["remote.origin.promisor", "true"],
  ["extensions.partialClone", "origin"],
  ["core.repositoryFormatVersion", "1"],
  ["diff.noprefix", "true"],
  ["color.ui", "always"],
  ["hook.canary.event", "reference-transaction"],
  ["hook.a=b.c.event", "reference-transaction"],
  // With this command, git does not know the name as an event that could be disabled.
  ["hook.reference-transaction.command", "true"],
];

export interface HostileRepository {
  readonly repository: TestRepository;
  /** What has been run. */
  readonly fired: () => readonly string[];
}

/** A repository, one commit behind its origin, in which all that git can be told to run is a script that leaves a mark. */
export function hostileRepository(): HostileRepository {
  const origin = TestRepository.create();
  origin.commit({ "a.txt": lines(), "b.txt": lines() });
  const repository = origin.clone();
  origin.commit({ "a.txt": lines({ 3: "theirs" }) }, "Theirs");
  repository.git("fetch", "--quiet");
  const marks = temporaryFolder();
  const plant = (name: string): string => {
    const path = join(marks, `${name}.sh`);
    writeFileSync(path, `#!/bin/sh\n: > "${join(marks, name)}.fired"\ncat\nexit 0\n`);
    chmodSync(path, 0o755);
    return path;
  };
  for (const program of programs) repository.git("config", program, plant(program));
  for (const [key, value] of settings) repository.git("config", key, value);
  plantHooks(repository, plant);
  repository.write(".gitattributes", "* filter=canary diff=canary merge=canary text eol=crlf ident\n");
  repository.write("a.txt", lines({ 17: "ours" }));
  const names = [...hooks.map((hook) => `hook-${hook}`), ...programs];
  const fired = () => names.filter((name) => existsSync(join(marks, `${name}.fired`)));
  expectToFire(repository, fired);
  for (const name of names) rmSync(join(marks, `${name}.fired`), { force: true });
  return { repository, fired };
}

function plantHooks(repository: TestRepository, plant: (name: string) => string): void {
  const folder = join(repository.root, ".git/hooks");
  mkdirSync(folder, { recursive: true });
  for (const hook of hooks) {
    writeFileSync(join(folder, hook), readFileSync(plant(`hook-${hook}`)));
    chmodSync(join(folder, hook), 0o755);
  }
}

/** The user's own git runs what was planted: a canary that never fires would prove nothing. */
function expectToFire(repository: TestRepository, fired: () => readonly string[]): void {
  for (const args of [["status"], ["add", "a.txt"], ["update-ref", "refs/heads/canary", "HEAD"]])
    try {
      repository.git(...args);
    } catch {
      // A planted program may make git fail; it has been run then.
    }
  expect(fired()).toEqual(expect.arrayContaining(["core.fsmonitor", "hook-reference-transaction"]));
  expect(fired().some((name) => name.startsWith("filter."))).toBe(true);
}
