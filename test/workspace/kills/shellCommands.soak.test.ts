import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { bundleWorker } from "../../kill/bundleWorker.ts";
import { temporaryDirectory } from "../../kill/temporaryDirectory.ts";
import { testSeed as seed } from "../../testSeed.ts";
import { treeOf } from "../fixture.ts";
import { TestRepository } from "../git/repositories.ts";
import type { ShellWorkerOptions } from "./shellWorker.ts";
import { cases } from "../../soak/cases.ts";

const kills = Number(process.env["SHELL_KILLS"] ?? cases(3, 40));
const mostKillsOfLife = 4;
const longestMs = 25;

/** Real commands on the files of the repository. Each does the same when it is repeated. */
const scripts = [
  "for f in src/*.ts; do sed -i 's/old/new/' $f; done",
  "rm -f src/b.ts docs/*.md; rmdir docs; mkdir -p out && cp src/*.ts out/",
  "git mv -f src/c.ts src/moved.ts; git add -A; git commit -qm work",
  "tar cf all.tar src && gzip -f all.tar; echo secret > .env; chmod 600 src/a.ts",
  "git checkout -q -B other; for i in 1 2 3 4 5 6; do echo $i > src/new-$i.ts; done; rm -rf out",
  "ln -sfn src link; mv src lib; printf 'x\\n' >> lib/d.ts; mv lib src",
];
const files: Readonly<Record<string, string>> = {
  ".gitignore": "*.log\n",
  "packages/app/.gitignore": "generated/*\n",
  "packages/app/generated/kept.ts": "old 1\n",
  "packages/app/docs/guide.md": "guide\n",
  "packages/app/docs/faq.md": "faq\n",
  ...Object.fromEntries(
    ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => [
      `packages/app/src/${name}.ts`,
      `old ${name}\n`.repeat(200),
    ]),
  ),
};
/** The person edits these also while the agent's files change. No command changes the first two. */
const personsFiles = ["notes.txt", "own/todo", "src/a.ts", "src/e.ts", "src/new-3.ts", "docs/faq.md"];
const ownFiles = personsFiles.slice(0, 2);

let home: string;
let program: string;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  home = await temporaryDirectory();
  program = await bundleWorker(home, "../workspace/kills/shellWorker.ts");
});
afterEach(() => {
  for (const child of running) killGroup(child);
});
afterAll(() => rm(home, { recursive: true, force: true }));

function killGroup({ pid = 0 }: ChildProcess): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** @returns whether it was killed. */
async function runWorker(options: ShellWorkerOptions, kill?: { readonly pass: number; readonly afterMs: number }) {
  const child = spawn(process.execPath, [program, JSON.stringify(options)], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  running.add(child);
  let passes = 0;
  child.stdout.on("data", () => {
    if (kill && ++passes === kill.pass) setTimeout(() => killGroup(child), kill.afterMs);
  });
  await once(child, "close");
  running.delete(child);
  if (child.signalCode === null) expect(child.exitCode).toBe(0);
  return child.signalCode === "SIGKILL";
}

/**
 * A person saves a file in one step, as editors do, unless a command has removed its folder.
 *
 * @param saved all that was saved, by path.
 */
function save(root: string, path: string, saved: Map<string, string[]>, tag: number): void {
  if (!ownFiles.includes(path) && !existsSync(join(root, dirname(path)))) return;
  mkdirSync(dirname(join(root, path)), { recursive: true });
  const draft = join(root, "..", "..", "..", "draft");
  writeFileSync(draft, `by a person ${tag}\n`);
  renameSync(draft, join(root, path));
  saved.set(path, [...(saved.get(path) ?? []), `644 by a person ${tag}\n`]);
}

it("changes of real commands are rolled back after any kills, and a person's work is replaced only by a decision", async () => {
  const random = seededNumbers(seed);
  const pick = (most: number) => Math.floor(random() * most);
  let left = kills;
  let asked = 0;
  while (left > 0) {
    const directory = await temporaryDirectory();
    mkdirSync(join(directory, "repository"));
    const repository = new TestRepository(join(directory, "repository"));
    repository.git("init", "--quiet", "--initial-branch=main");
    for (const [path, content] of Object.entries(files)) repository.write(path, content);
    repository.git("add", "--all", "--force");
    repository.git("commit", "--quiet", "--message", "start");
    const root = join(repository.root, "packages", "app");
    const start = filesOf(root);
    const saved = new Map<string, string[]>();
    /** What was last saved while a process ran. It may count as the work of its command. */
    const duringRun = new Set<string>();
    const options = { directory, scripts: scripts.slice(pick(3)), rollsBack: false };
    let isKilled = true;
    for (let life = 1 + pick(mostKillsOfLife); life > 0 && left > 0 && isKilled; life--) {
      // In a run, the person only edits files of their own: what changes during a command counts as the command's.
      const editing = setInterval(() => {
        const path = ownFiles[pick(2)] ?? "";
        save(root, path, saved, pick(1e9));
        duringRun.add(path);
      }, 5);
      isKilled = await runWorker(options, { pass: 1 + pick(3), afterMs: random() * longestMs });
      clearInterval(editing);
      if (isKilled) left--;
      for (let count = pick(3); count > 0; count--) {
        const path = personsFiles[pick(6)] ?? "";
        save(root, path, saved, pick(1e9));
        duringRun.delete(path);
      }
    }
    if (pick(2) === 0) await runWorker(options);
    const before = filesOf(root);
    await runWorker({ ...options, rollsBack: true });
    const questions = existsSync(join(directory, "asked")) ? readFileSync(join(directory, "asked"), "utf8") : "";
    const isAsked = (path: string) => questions.split("\n").includes(path);
    asked += questions.split("\n").length;
    const found = filesOf(root);
    const wrong = [...new Set([...Object.keys(start), ...Object.keys(found), ...saved.keys()])].filter((path) => {
      const versions = saved.get(path) ?? [];
      if (duringRun.has(path)) return found[path] !== start[path] && !versions.includes(found[path] ?? "");
      // What a person saved last stays, unless somebody was asked. A command may have started from what was saved before.
      if (versions.length > 0 && before[path] === versions.at(-1) && !isAsked(path))
        return found[path] !== before[path];
      // What a rollback finds as it was needs no question.
      const isPersons = versions.includes(found[path] ?? "");
      const isUntouched = versions.length === 0 || found[path] === before[path];
      return !isPersons && (found[path] !== start[path] || !(isUntouched || isAsked(path)));
    });
    // Seed and directory are shown when this fails, and the directory is kept.
    expect({ seed, directory, wrong }).toEqual({ seed, directory, wrong: [] });
    await rm(directory, { recursive: true });
  }
  if (kills > 30) expect(asked).toBeGreaterThan(10);
});

/** The files and links below a folder. */
function filesOf(root: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(treeOf(root)).filter(([, what]) => what !== "folder"));
}
