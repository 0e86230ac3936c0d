import { chmodSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { persistence } from "agent-persistence";
import { crashAfter } from "agent-persistence/testing";
import type { FileConflict, FileResolution } from "agent-persistence/workspace";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { readScan, StoredScan } from "../../../src/workspace/capture/StoredScan.ts";
import { emptyScan, type Scan, type ScannedFile } from "../../../src/workspace/capture/Scan.ts";
import { logStorages } from "../../persistence/support/storages.ts";
import { temporaryFolder, treeOf } from "../fixture.ts";
import { put, Shell, steps } from "../Shell.ts";

/** The appends until a command starts: the input, the answer, the intent and the start of the capture. */
const appendsBefore = 4;

/** Answers each conflict the same way, and keeps what was asked. */
function answering(answer: FileResolution, ofDeleted: FileResolution = "restore") {
  const asked: FileConflict[] = [];
  const onConflict = (conflict: FileConflict): FileResolution => {
    asked.push(conflict);
    return conflict.kind === "file_deleted" ? ofDeleted : answer;
  };
  return { asked, onConflict };
}

/** Writes `a` and `new`, deletes `b`, and removes the folder `d`. */
function command(root: string): void {
  put(root, { a: "by the command", "new/file": "by the command" });
  rmSync(join(root, "b"));
  rmSync(join(root, "d"), { recursive: true });
}

function folderWithFiles(): string {
  const root = temporaryFolder();
  put(root, { a: "1", b: "2", "d/e": "3", untouched: "4" });
  chmodSync(join(root, "d"), 0o700);
  return root;
}

/** A shell whose process dies in its first command. */
async function interrupted(
  root: string,
  work: readonly (() => void)[],
  options: ConstructorParameters<typeof Shell>[2] = {},
): Promise<Shell> {
  const shell = new Shell(root, work, options);
  const { agent } = shell.build(crashAfter(shell.storage, appendsBefore));
  await agent.run("go").catch(() => undefined);
  return shell;
}

describe.each(logStorages)("an interrupted command, $name", ({ open }) => {
  const storage = async () => ({ storage: (await open())() });

  it("is previewed, and rolled back if a handler decides so, with the same report each time", async () => {
    const root = folderWithFiles();
    const before = treeOf(root);
    const { asked, onConflict } = answering("use_checkpoint");
    const shell = await interrupted(root, [() => command(root)], { ...(await storage()), onConflict });
    const { saved, workspace } = shell.build();
    const [first] = await saved.getCheckpoints();
    expect(await workspace.preview(first?.checkpointId ?? "")).toEqual([
      { path: "a", change: "conflict" },
      { path: "b", change: "conflict" },
      { path: "d/e", change: "conflict" },
      { path: "new/file", change: "conflict" },
    ]);
    const report = await saved.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(treeOf(root)).toEqual(before);
    expect(asked).toEqual([
      { kind: "file_modified_externally", path: "a", interrupted: true },
      { kind: "file_deleted", path: "b", interrupted: true },
      { kind: "file_deleted", path: "d/e", interrupted: true },
      { kind: "file_modified_externally", path: "new/file", interrupted: true },
    ]);
    const replaced = nodeSha256.hex("by the command");
    expect(steps(report)).toContainEqual({ subject: "a", change: "write (use_checkpoint)", replaced });
    expect(await shell.rollBack(0)).toEqual(report);
  });

  it("is rolled back after a resume that repeats and completes it", async () => {
    const root = folderWithFiles();
    const before = treeOf(root);
    const { asked, onConflict } = answering("use_checkpoint");
    let isFirst = true;
    const work = () => {
      if (isFirst) command(root);
      else put(root, { a: "by the command", late: "only the second time" });
      isFirst = false;
    };
    const shell = await interrupted(root, [work], { ...(await storage()), onConflict });
    await shell.build().agent.resume();
    await shell.rollBack(0);
    expect(treeOf(root)).toEqual(before);
    expect(asked.map(({ path }) => path)).toEqual(["a", "b", "d/e", "new/file"]);
  });
});

describe("an interrupted command", () => {
  it("blocks a rollback without a handler and names its files", async () => {
    const root = folderWithFiles();
    const shell = await interrupted(root, [() => put(root, { a: "2" })]);
    await expect(shell.rollBack(0)).rejects.toMatchObject({
      code: "file_conflict",
      conflicts: [
        {
          kind: "file_modified_externally",
          path: "a",
          interrupted: true,
          options: ["use_current", "use_checkpoint", "merge", "abort"],
        },
      ],
    });
    expect(readFileSync(join(root, "a"), "utf8")).toBe("2");
  });

  it("keeps its changes by choice, and refuses a merge that could revert the work of others", async () => {
    const root = folderWithFiles();
    const changed = { ...treeOf(root), a: `${treeOf(root)["a"]?.slice(0, 3)} 2` };
    const shell = await interrupted(root, [() => put(root, { a: "2" })], {
      onConflict: () => "merge",
    });
    await expect(shell.rollBack(0)).rejects.toMatchObject({ conflicts: [{ path: "a", refused: /interrupted/ }] });
    const again = new Shell(root, [], { storage: shell.storage, onConflict: () => "use_current" });
    await again.rollBack(0);
    expect(treeOf(root)).toEqual(changed);
  });

  it("is distinguished from changes of others after the next command starts", async () => {
    const root = folderWithFiles();
    const { asked, onConflict } = answering("use_checkpoint");
    let isFirst = true;
    const work = () => {
      if (isFirst) put(root, { a: "interrupted" });
      isFirst = false;
    };
    const shell = await interrupted(root, [work, () => put(root, { second: "1" })], { onConflict });
    await shell.build().agent.resume();
    put(root, { untouched: "by a person", b: "by a person" });
    await shell.rollBack(0);
    expect(asked.map(({ path }) => path)).toEqual(["a"]);
    expect(treeOf(root)).toMatchObject({ a: "644 1", b: "644 by a person", untouched: "644 by a person" });
  });

  it("can be rolled back after pruning", async () => {
    const root = folderWithFiles();
    const before = treeOf(root);
    const { onConflict } = answering("use_checkpoint");
    let isFirst = true;
    const work = () => {
      if (isFirst) command(root);
      isFirst = false;
    };
    const others = Array.from({ length: 5 }, (_, at) => () => put(root, { later: `${at}` }));
    const shell = await interrupted(root, [work, ...others], { onConflict });
    const { agent, saved } = shell.build();
    await agent.resume();
    const [first] = await saved.getCheckpoints();
    const { pruned } = await persistence(agent).prune({ policy: { maxCheckpoints: 2 } });
    expect(pruned[0]?.checkpointIds.length).toBeGreaterThan(0);
    await saved.rollbackToCheckpoint(first?.checkpointId ?? "");
    expect(treeOf(root)).toEqual(before);
  });

  it("requires a decision about a file that the repeated command and then a person changed", async () => {
    const root = folderWithFiles();
    const { asked, onConflict } = answering("use_checkpoint");
    let runs = 0;
    const shell = await interrupted(root, [() => put(root, { a: `${++runs}. run` })], { onConflict });
    await shell.build().agent.resume();
    put(root, { a: "by a person" });
    await shell.rollBack(0);
    expect([asked.map(({ path }) => path), readFileSync(join(root, "a"), "utf8")]).toEqual([["a"], "1"]);
  });

  it("stores only the differences from the previous scan", async () => {
    const root = temporaryFolder();
    const files = Array.from({ length: 2_000 }, (_, at) => [`folder ${at % 20}/file ${at}`, `${at}`] as const);
    put(root, Object.fromEntries(files));
    const work = Array.from({ length: 8 }, (_, at) => () => put(root, { [`folder 3/${at}`]: `${at}` }));
    const shell = new Shell(root, work);
    await shell.run();
    const ofFirstRun = await scanBytes(shell);
    expect(ofFirstRun.first).toBeGreaterThan(100_000);
    // Each scan has one file and one changed file more.
    for (const bytes of ofFirstRun.later) expect(bytes).toBeLessThan(1_500);
    const again = new Shell(root, work.slice(0, 1), { storage: shell.storage });
    await again.run();
    // The second run stores the list of chunks, and the chunks that changed.
    expect((await scanBytes(again)).later.at(-1)).toBeLessThan(40_000);
  });
});

/** The bytes that each start of a command stored for its scan. */
async function scanBytes(shell: Shell): Promise<{ readonly first: number; readonly later: readonly number[] }> {
  const sizes: number[] = [];
  for await (const { records } of shell.storage.log.read("shell"))
    for (const record of records as readonly NotedContents[])
      if (record.kind === "note" && record.key === "files" && record.value?.began !== undefined)
        sizes.push((record.packs ?? []).flatMap(({ contents }) => contents).reduce((sum, [, bytes]) => sum + bytes, 0));
  const [first = 0, ...later] = sizes;
  return { first, later };
}

interface NotedContents {
  readonly kind: string;
  readonly key?: string;
  readonly value?: { readonly began?: string };
  readonly packs?: readonly { readonly contents: readonly (readonly [hash: string, bytes: number])[] }[];
}

const names = fc.constantFrom(...Array.from({ length: 40 }, (_, at) => `folder ${at % 3}/file ${at}`));
const tree = fc.dictionary(names, fc.nat(3), { maxKeys: 40 });

function scanOf(files: Readonly<Record<string, number>>): Scan {
  const stamp = { size: 1, mtimeMs: 1.5, ctimeMs: 1.5, mode: 0o644, ino: 1, birthtimeMs: 1, nlink: 1 };
  const scanned = Object.entries(files).map(([path, at]): [string, ScannedFile] => {
    const state = { kind: "file", hash: nodeSha256.hex(`${at}`), bytes: 1, mode: 0o644 } as const;
    return [path, at === 3 ? { stamp, settled: true, leftOut: "is large" } : { state, stamp, settled: true }];
  });
  const folders = new Map(Object.keys(files).map((path) => [path.split("/")[0] ?? "", { ...stamp, mode: 0o755 }]));
  const hidden = new Map<string, { readonly reason?: string }>([
    ["ignored", {}],
    ...Object.keys(files).map((path) => [`${path}~`, { reason: "r" }] as const),
  ]);
  return { ...emptyScan, files: new Map(scanned), folders, hidden };
}

it("a stored scan is read back unchanged", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(tree, { minLength: 1, maxLength: 12 }), async (trees) => {
      const stored = new StoredScan();
      const contents = new Map<string, Uint8Array>();
      const content = async (hash: string) => contents.get(hash);
      const all = trees.map((files) => ({ files, hashes: stored.add(scanOf(files), contents) }));
      for (const { files, hashes } of all) {
        const scan = await readScan(hashes, content);
        const wanted = scanOf(files);
        expect(byPath(scan?.files, ({ state, leftOut }) => [state?.kind === "file" && state.hash, leftOut])).toEqual(
          byPath(wanted.files, ({ state, leftOut }) => [state?.kind === "file" && state.hash, leftOut]),
        );
        expect(byPath(scan?.folders, ({ mode }) => mode)).toEqual(byPath(wanted.folders, ({ mode }) => mode));
        expect(byPath(scan?.hidden, ({ reason }) => reason)).toEqual(byPath(wanted.hidden, ({ reason }) => reason));
        expect(hashes.length).toBeLessThan(10);
      }
    }),
  );
});

function byPath<Value>(map: ReadonlyMap<string, Value> | undefined, view: (value: Value) => unknown) {
  return Object.fromEntries([...(map ?? [])].map(([path, value]) => [path, view(value)]));
}

it.each([
  ["a path outside the root", `["file","../x",null]`],
  ["another form", `["file",7]`],
  ["an unknown kind", `["device","x"]`],
])("a stored scan with %s is not read", async (_name, line) => {
  const contents = new Map([
    ["base", `["chunk"]`],
    ["chunk", `[${line}]`],
  ]);
  const content = async (hash: string) => new TextEncoder().encode(contents.get(hash));
  expect(await readScan(["base"], content)).toBeUndefined();
});
