import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { FileConflict, FileResolution } from "agent-persistence/workspace";
import { aheadOfChanges } from "./restore/changingCalls.ts";
import { put, Shell, steps } from "./Shell.ts";

// Runs each scenario in a folder of its own, as a user whom permissions stop, and writes what they saw as JSON.
const [top = ""] = process.argv.slice(2);
let root = top;

const at = (path: string): string => join(root, path);
const shut = (path: string, mode: number) => (): void => chmodSync(at(path), mode);
const modeOf = (path: string): string => (lstatSync(at(path)).mode & 0o777).toString(8);
const text = (path: string): string => readFileSync(at(path), "utf8");

type Refusal = { readonly code?: string; readonly conflicts?: readonly FileConflict[] };

/** What a rollback to the first answer shows and does: with one answer to all conflicts, or nobody to answer. */
async function rolledBack({ storage }: Shell, answer?: FileResolution) {
  const asked: string[] = [];
  const onConflict = ({ kind, path }: FileConflict): FileResolution => {
    asked.push(`${kind} ${path}`);
    return answer ?? "abort";
  };
  const shell = new Shell(root, [], { storage, ...(answer && { onConflict }) });
  const { saved, workspace } = shell.build();
  const [first] = await saved.getCheckpoints({ nodeId: "callModel" });
  const preview = (await workspace.preview(first!.checkpointId)).map(({ path, change }) => `${change} ${path}`);
  try {
    const report = steps(await shell.rollBack(0)) as readonly { readonly subject: string; readonly change: string }[];
    return { preview, asked, report: report.map(({ subject, change }) => `${subject}: ${change}`) };
  } catch (error) {
    const { code, conflicts } = error as Refusal;
    return { preview, asked, code, conflicts };
  }
}

async function ran(...work: readonly (() => void)[]): Promise<Shell> {
  const shell = new Shell(root, work);
  await shell.run();
  return shell;
}

/** What the model was told of the calls, and the files that the checkpoints name. */
async function recorded(shell: Shell) {
  const { saved } = shell.build();
  const messages = (await saved.getMessages()).flatMap(({ role, content }) =>
    role === "tool" && typeof content !== "string" ? content : [],
  );
  const changes = (await saved.getCheckpoints()).map(({ fileChanges }) => fileChanges);
  return {
    outputs: messages.map((part) => (part.type === "tool-result" ? (part.output ?? "done") : part.type)),
    changed: changes.flatMap(({ modified, created }) => [...modified, ...created].map(({ path }) => path)),
  };
}

const scenarios: Readonly<Record<string, () => Promise<unknown>>> = {
  async unreadable() {
    put(root, {
      a: "1",
      "locked/x": "1",
      "listed/inner/x": "1",
      "listed/y": "1",
      secret: "1",
      ".gitignore": "*.log\n",
    });
    put(root, { "listed/z.log": "1" });
    shut("locked", 0)();
    shut("listed", 0o444)();
    shut("secret", 0)();
    const { leftOut } = await new Shell(root, []).build().workspace.scan();
    const shell = await ran(() => put(root, { a: "2" }));
    return { leftOut, ...(await recorded(shell)), ...(await rolledBack(shell)), a: text("a") };
  },
  async madeUnreadable() {
    put(root, { a: "1", "d/x": "1", "d/e/y": "1", "e/x.log": "1", f: "1" });
    const shell = await ran(() => {
      put(root, { a: "2", ".gitignore": "*.log\n" });
      shut("d", 0)();
      shut("e", 0)();
      shut("f", 0)();
    });
    return { ...(await recorded(shell)), ...(await rolledBack(shell)), a: text("a"), modes: ["d", "e"].map(modeOf) };
  },
  async unwritable() {
    put(root, { "ro/f": "1", other: "1", gone: "1" });
    const shell = await ran(() => {
      put(root, { "ro/f": "2", other: "2" });
      rmSync(at("gone"));
    });
    shut("ro", 0o555)();
    const [alone, aborted] = [await rolledBack(shell), await rolledBack(shell, "abort")];
    const before = ["ro/f", "other"].map(text);
    const skipped = await rolledBack(shell, "skip");
    return { alone, aborted, before, skipped, after: ["ro/f", "other", "gone"].map(text) };
  },
  async unreadableAtRollback() {
    put(root, { f: "1", "d/x": "1", other: "1" });
    const shell = await ran(() => put(root, { f: "2", "d/x": "2", other: "2" }));
    shut("f", 0)();
    shut("d", 0)();
    return { ...(await rolledBack(shell, "skip")), other: text("other") };
  },
  async unreadableMeanwhile() {
    put(root, { f: "1", other: "1" });
    const shell = await ran(() => put(root, { f: "2", other: "2" }));
    const ends: unknown[] = [];
    const shutFirst = (change: number): void => (change === 1 ? shut("f", 0)() : undefined);
    await aheadOfChanges(shutFirst, async () => ends.push(await rolledBack(shell, "abort")));
    return { ends, names: readdirSync(root).toSorted(), other: text("other") };
  },
  async foldersInUnwritable() {
    mkdirSync(at("p/d"), { recursive: true });
    put(root, { other: "1" });
    const shell = await ran(() => {
      put(root, { "p/made/x": "1", other: "2" });
      shut("p/d", 0o700)();
    });
    shut("p", 0o500)();
    return { ...(await rolledBack(shell)), other: text("other") };
  },
  async ownFolders() {
    put(root, { "cache/a": "1" });
    const shell = await ran(() => {
      put(root, { "cache/a": "2", "cache/b": "1", "made/deep/x": "1" });
      for (const path of ["cache", "made/deep", "made"]) shut(path, 0o555)();
    });
    return { ...(await rolledBack(shell)), a: text("cache/a"), mode: modeOf("cache") };
  },
};

const seen: Record<string, unknown> = {};
for (const [name, scenario] of Object.entries(scenarios)) {
  root = join(top, name);
  mkdirSync(root);
  seen[name] = await scenario();
}
writeSync(1, JSON.stringify(seen));
