import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LogPersistenceStorageProvider, type Entry } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import { ConflictResolver, type FileConflict, type FileResolution } from "agent-persistence/workspace";
import { logStorages } from "../../persistence/support/storages.ts";
import { Coder, temporaryFolder, treeOf, type Call } from "../fixture.ts";

const lines = (...changed: readonly (readonly [number, string])[]): string => {
  const text = Array.from({ length: 20 }, (_, at) => `line ${at}\n`);
  for (const [at, line] of changed) text[at] = `${line}\n`;
  return text.join("");
};

/** The agent edits line 2 of a file, deletes one, creates one. */
const calls: readonly Call[] = [
  ["edit_file", { path: "doc.md", oldText: "line 2\n", newText: "the agent's line\n" }],
  ["delete_file", { path: "old" }],
  ["write_file", { path: "made/by/agent", content: "new" }],
];

function start(): string {
  const root = temporaryFolder();
  writeFileSync(join(root, "doc.md"), lines());
  writeFileSync(join(root, "old"), "old", { mode: 0o600 });
  return root;
}

/** Answers by path; "abort" for what is not listed. */
const answers =
  (given: Readonly<Record<string, FileResolution>>) =>
  ({ path }: FileConflict): FileResolution =>
    given[path] ?? "abort";

describe.each(logStorages)("a rollback of files, $name", ({ open }) => {
  it("a rollback restores the files of each checkpoint", async () => {
    const coder = new Coder(calls, { root: start(), storage: (await open())() });
    const before = treeOf(coder.root);
    await coder.run();
    const preview = coder.build().workspace.preview(await coder.checkpointAt(1));
    expect(await preview).toEqual([
      { path: "old", change: "write" },
      { path: "made/by/agent", change: "delete" },
    ]);
    const report = await coder.rollBack(1);
    expect(report.participants).toEqual([
      {
        key: "files",
        steps: [
          { subject: "made/by/agent", change: "delete" },
          { subject: "made/by", change: "remove empty folder" },
          { subject: "made", change: "remove empty folder" },
          { subject: "old", change: "write" },
        ],
      },
    ]);
    expect(treeOf(coder.root)).toEqual({ ...before, "doc.md": `644 ${lines([2, "the agent's line"])}` });
    await coder.rollBack(0);
    expect(treeOf(coder.root)).toEqual(before);
  });

  it("a rollback without onConflict is refused if others changed files, and lists all conflicts", async () => {
    const coder = new Coder(calls, { root: start(), storage: (await open())() });
    await coder.run();
    writeFileSync(join(coder.root, "doc.md"), "mine");
    writeFileSync(join(coder.root, "old"), "mine too");
    rmSync(join(coder.root, "made/by/agent"));
    const tree = treeOf(coder.root);
    const target = await coder.checkpointAt(0);
    const { saved, workspace } = coder.build();
    const checkpoints = (await saved.getCheckpoints()).length;
    expect(await workspace.preview(target)).toEqual([
      { path: "doc.md", change: "conflict" },
      { path: "old", change: "conflict" },
    ]);
    const options = ["use_current", "use_checkpoint", "merge", "abort"];
    await expect(saved.rollbackToCheckpoint(target)).rejects.toMatchObject({
      code: "file_conflict",
      checkpointId: target,
      conflicts: [
        { kind: "file_modified_externally", path: "doc.md", options },
        { kind: "file_modified_externally", path: "old", options },
      ],
    });
    expect([treeOf(coder.root), (await saved.getCheckpoints()).length]).toEqual([tree, checkpoints]);
  });
});

describe("a file that somebody else has changed", () => {
  async function changed(path: string, content: string | undefined): Promise<Coder> {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    if (content === undefined) rmSync(join(coder.root, path));
    else writeFileSync(join(coder.root, path), content);
    return coder;
  }
  const mine = lines([2, "the agent's line"], [15, "mine"]);
  const read = ({ root }: Coder, path: string): string | undefined => treeOf(root)[path];

  const settled: readonly (readonly [
    path: string,
    content: string | undefined,
    FileResolution,
    result: string | undefined,
    change: string,
  ])[] = [
    ["doc.md", mine, "use_current", `644 ${mine}`, "use_current"],
    ["doc.md", mine, "use_checkpoint", `644 ${lines()}`, "write (use_checkpoint)"],
    ["doc.md", mine, "merge", `644 ${lines([15, "mine"])}`, "write (merge)"],
    ["doc.md", undefined, "restore", `644 ${lines()}`, "write (restore)"],
    ["doc.md", undefined, "skip", undefined, "skip"],
    ["made/by/agent", "mine", "use_checkpoint", undefined, "delete (use_checkpoint)"],
    ["made/by/agent", "mine", "use_current", "644 mine", "use_current"],
  ];

  it.each(settled)("a conflict in %s is settled by the answer: %#", async (path, content, answer, result, change) => {
    const coder = await changed(path, content);
    const report = await coder.rollBack(0, { onConflict: answers({ [path]: answer }) });
    expect(read(coder, path)).toBe(result);
    expect(report.participants[0]?.steps).toContainEqual(expect.objectContaining({ subject: path, change }));
    expect(read(coder, "old")).toBe("600 old");
  });

  const refused: readonly (readonly [
    path: string,
    content: string | undefined,
    FileResolution,
    refused: RegExp | undefined,
  ])[] = [
    ["doc.md", mine, "abort", undefined],
    ["doc.md", lines([2, "mine"]), "merge", /the same lines/],
    ["doc.md", "a\0b", "merge", /only text/],
    ["doc.md", undefined, "merge", /not a valid answer/],
    ["doc.md", mine, "restore", /not a valid answer/],
    ["made/by/agent", "mine", "merge", /exists in every version/],
  ];

  it.each(refused)(
    "a conflict in %s is not settled, and the rollback is refused: %#",
    async (path, content, answer, reason) => {
      const coder = await changed(path, content);
      const tree = treeOf(coder.root);
      const error: unknown = await coder.rollBack(0, { onConflict: () => answer }).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "file_conflict", conflicts: [{ path }] });
      const [conflict] = (error as { readonly conflicts: readonly { readonly refused?: string }[] }).conflicts;
      if (reason) expect(conflict?.refused).toMatch(reason);
      else expect(conflict?.refused).toBeUndefined();
      expect(treeOf(coder.root)).toEqual(tree);
    },
  );

  it("a conflict is merged by the workspace's resolver, and the report states who resolved it", async () => {
    const coder = await changed("doc.md", lines([2, "mine"]));
    const conflictResolver = new ConflictResolver({ askPerson: ({ conflict }) => `both\n${conflict.theirs}` });
    const report = await coder.rollBack(0, { onConflict: answers({ "doc.md": "merge" }), conflictResolver });
    expect(read(coder, "doc.md")).toBe(`644 both\n${lines([2, "mine"])}`);
    const step = { subject: "doc.md", change: "write (merge by person)" };
    expect(report.participants[0]?.steps).toContainEqual(expect.objectContaining(step));
  });

  it("a file that others changed is stored in the log when a rollback replaces it", async () => {
    const coder = await changed("doc.md", mine);
    await coder.rollBack(0, { onConflict: () => "use_checkpoint" });
    const { log } = coder.storage as LogPersistenceStorageProvider;
    const packed: Uint8Array[] = [];
    for await (const { records } of log.read("coder"))
      for (const record of records as readonly {
        readonly participants?: readonly { readonly packs?: readonly { readonly blob: string }[] }[];
      }[])
        for (const { packs = [] } of record.participants ?? [])
          for (const { blob } of packs) packed.push((await log.blobs.get("coder", blob)) ?? new Uint8Array());
    expect(packed.map((bytes) => new TextDecoder().decode(bytes))).toEqual([mine]);
  });

  it("a file that others change after the rollback was planned is a new conflict", async () => {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    const crashing = coder.build();
    let planned = false;
    const apply = crashing.workspace.apply.bind(crashing.workspace);
    Object.assign(crashing.workspace, {
      apply: (...given: Parameters<typeof apply>) => {
        if (!planned) writeFileSync(join(coder.root, "doc.md"), "meanwhile");
        planned = true;
        return apply(...given);
      },
    });
    await expect(crashing.saved.rollbackToCheckpoint(await coder.checkpointAt(0))).rejects.toMatchObject({
      code: "file_conflict",
      conflicts: [{ path: "doc.md" }],
    });
    await expect(coder.build().agent.resume()).rejects.toMatchObject({ code: "file_conflict" });
    expect(readFileSync(join(coder.root, "doc.md"), "utf8")).toBe("meanwhile");
    const { agent } = coder.build({ onConflict: () => "use_checkpoint" });
    expect(await agent.resume()).toMatchObject({ output: "done" });
    expect(readFileSync(join(coder.root, "doc.md"), "utf8")).toBe(lines([2, "the agent's line"]));
  });
});

describe("a restore that cannot continue", () => {
  it("undoes its changes and checks the files again if others saved files after the plan", async () => {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    const saved: string[] = [];
    // Everything was looked at before this is asked: what is saved now changes in the middle of the restore.
    const onConflict = ({ path }: FileConflict): FileResolution => {
      saved.push(path);
      if (saved.length === 1) writeFileSync(join(coder.root, "old"), "saved meanwhile");
      return saved.length < 3 ? "use_checkpoint" : "abort";
    };
    const { workspace, saved: rolling } = coder.build({ onConflict });
    const apply = workspace.apply.bind(workspace);
    Object.assign(workspace, {
      apply: (...given: Parameters<typeof apply>) => {
        writeFileSync(join(coder.root, "doc.md"), "mine");
        return apply(...given);
      },
    });
    const tree = treeOf(coder.root);
    await expect(rolling.rollbackToCheckpoint(await coder.checkpointAt(0))).rejects.toMatchObject({
      code: "file_conflict",
    });
    expect([saved.toSorted(), treeOf(coder.root)]).toEqual([
      ["doc.md", "doc.md", "old"],
      { ...tree, "doc.md": "644 mine", old: "644 saved meanwhile" },
    ]);
  });
});

describe("a file and a directory that exchanged places", () => {
  it.each([
    [
      "a file that became a directory",
      [
        ["delete_file", { path: "old" }],
        ["write_file", { path: "old/new", content: "x" }],
      ],
    ],
    [
      "a directory that became a file",
      [
        ["delete_file", { path: "dir/x" }],
        ["write_file", { path: "x", content: "" }],
      ],
    ],
  ] as const)("%s", async (_name, made) => {
    const root = start();
    mkdirSync(join(root, "dir"));
    writeFileSync(join(root, "dir/x"), "in a folder");
    const before = treeOf(root);
    const coder = new Coder(made, { root });
    await coder.run();
    if (made[0][1].path === "dir/x") rmSync(join(root, "dir"), { recursive: true });
    await coder.rollBack(0);
    expect(treeOf(root)).toEqual(before);
  });
});

describe("a crash", () => {
  // A run of three answers, each with an intent, a note, an outcome with its checkpoint.
  it.each(Array.from({ length: 14 }, (_, saves) => saves))(
    "a crash in the file tools, after %i saves: resumed, or rolled back",
    async (saves) => {
      for (const how of ["resumed", "rolled back"]) {
        const coder = new Coder(calls, { root: start() });
        const before = treeOf(coder.root);
        await coder
          .build({ storage: crashAfter(coder.storage, saves) })
          .agent.run("go")
          .catch(() => undefined);
        if (how === "resumed") {
          await coder.build().agent.run("go");
          expect(treeOf(coder.root)).toMatchObject({
            "doc.md": `644 ${lines([2, "the agent's line"])}`,
            "made/by/agent": "644 new",
          });
          expect(treeOf(coder.root)).not.toHaveProperty("old");
        } else if (saves === 0) continue;
        await coder.rollBack(0);
        expect(treeOf(coder.root)).toEqual(before);
      }
    },
  );

  it.each([0, 1, 2, 3])(
    "a rollback of files that crashes after %i saves is finished by the next run",
    async (saves) => {
      const coder = new Coder(calls, { root: start() });
      await coder.run();
      const after = treeOf(coder.root);
      const crashing = coder.build({ storage: crashAfter(coder.storage, saves) });
      await crashing.saved.rollbackToCheckpoint(await coder.checkpointAt(0)).catch(() => undefined);
      expect(await coder.build().agent.resume()).toMatchObject({ output: "done" });
      expect(treeOf(coder.root)).toEqual(after);
    },
  );

  it("a rollback removes the half-written file of a crashed call", async () => {
    const coder = new Coder([["write_file", { path: "made/file.txt", content: "1" }]], { root: start() });
    const before = treeOf(coder.root);
    await coder
      .build({ storage: crashAfter(coder.storage, 4) })
      .agent.run("go")
      .catch(() => undefined);
    const unfinished = ".aadf327c8267c09d-0011223344556677.agent-tmp";
    renameSync(join(coder.root, "made/file.txt"), join(coder.root, "made", unfinished));
    await coder.rollBack(0);
    expect(treeOf(coder.root)).toEqual(before);
  });

  it("an interrupted restore leaves no temporary file, even if its file stays by choice", async () => {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    writeFileSync(join(coder.root, "doc.md"), "mine");
    writeFileSync(join(coder.root, ".07d30049577ad63d-0011223344556677.agent-tmp"), "half");
    await coder.rollBack(0, { onConflict: () => "use_current" });
    expect(Object.keys(treeOf(coder.root))).toEqual(["doc.md", "old"]);
  });

  it("a repeated call removes the half-written file of a crash", async () => {
    const coder = new Coder([["write_file", { path: "file.txt", content: "1" }]], { root: start() });
    await coder
      .build({ storage: crashAfter(coder.storage, 4) })
      .agent.run("go")
      .catch(() => undefined);
    renameSync(join(coder.root, "file.txt"), join(coder.root, ".aadf327c8267c09d-0011223344556677.agent-tmp"));
    await coder.build().agent.resume();
    expect(readdirSync(coder.root).toSorted()).toEqual(["doc.md", "file.txt", "old"]);
  });
});

/** The storage with other records, as somebody who can write to it would make them. */
function tampered(storage: LogPersistenceStorageProvider, alter: (record: Record<string, unknown>) => unknown) {
  const { log } = storage;
  return new LogPersistenceStorageProvider({
    version: "v1",
    capabilities: log.capabilities,
    blobs: log.blobs,
    open: (agentId, owner) => log.open(agentId, owner),
    async *read(agentId, options) {
      for await (const entry of log.read(agentId, options)) {
        const records = structuredClone(entry.records).map((record) => alter(record as never) ?? record);
        yield { ...entry, records } as unknown as Entry;
      }
    },
    list: (options) => log.list(options),
    owner: (agentId) => log.owner(agentId),
    requestStop: (agentId, reason) => log.requestStop(agentId, reason),
    close: () => log.close(),
  });
}

const content = { kind: "file", hash: "a".repeat(64), bytes: 1, mode: 0o777 };

describe("a modified stored note", () => {
  const notes: readonly (readonly [name: string, value: unknown, code: string])[] = [
    ["a path outside", { changes: [{ path: "../escaped", before: content }] }, "path_not_allowed"],
    ["an absolute path", { changes: [{ path: "/tmp/escaped", before: content }] }, "path_not_allowed"],
    ["a hook of git", { changes: [{ path: ".git/hooks/pre-commit", before: content }] }, "path_not_allowed"],
    ["git in other letters", { changes: [{ path: "sub/.Git/config", before: content }] }, "path_not_allowed"],
    ["a path in another form", { changes: [{ path: "a//b", before: content }] }, "unreadable_value"],
    ["a directory outside", { changes: [], folders: ["../.."] }, "path_not_allowed"],
    ["a mode with set-user-id", { changes: [{ path: "x", before: { ...content, mode: 0o4755 } }] }, "unreadable_value"],
    ["no hash", { changes: [{ path: "x", before: { ...content, hash: "../x" } }] }, "unreadable_value"],
    ["no changes", { changes: { length: 3 } }, "unreadable_value"],
    ["nothing", null, "unreadable_value"],
  ];

  it.each(notes)("a stored file note with %s: the rollback is refused without changes", async (_name, value, code) => {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    const outside = temporaryFolder();
    symlinkSync(outside, join(coder.root, "way"));
    const before = [treeOf(coder.root), treeOf(outside)];
    const target = await coder.checkpointAt(0);
    const storage = tampered(coder.storage as LogPersistenceStorageProvider, (record) =>
      record["kind"] === "note" ? { ...record, value } : record,
    );
    await expect(coder.build({ storage }).saved.rollbackToCheckpoint(target)).rejects.toMatchObject({ code });
    await expect(coder.build({ storage }).workspace.preview(target)).rejects.toMatchObject({ code });
    expect([treeOf(coder.root), treeOf(outside)]).toEqual(before);
  });

  it("a stored file note with a path through a link is a conflict without changes", async () => {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    const outside = temporaryFolder();
    symlinkSync(outside, join(coder.root, "way"));
    const before = [treeOf(coder.root), treeOf(outside)];
    const target = await coder.checkpointAt(0);
    const value = { changes: [{ path: "way/escaped", before: content }] };
    const storage = tampered(coder.storage as LogPersistenceStorageProvider, (record) =>
      record["kind"] === "note" ? { ...record, value } : record,
    );
    const { saved, workspace } = coder.build({ storage, onConflict: () => "use_checkpoint" });
    await expect(saved.rollbackToCheckpoint(target)).rejects.toMatchObject({ code: "file_conflict" });
    expect(await workspace.preview(target)).toEqual([{ path: "way/escaped", change: "conflict" }]);
    expect([treeOf(coder.root), treeOf(outside)]).toEqual(before);
  });

  it("a file note with missing content in the log writes no file", async () => {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    const target = await coder.checkpointAt(1);
    const storage = tampered(coder.storage as LogPersistenceStorageProvider, (record) =>
      record["kind"] === "note"
        ? JSON.parse(JSON.stringify(record).replaceAll(/"[0-9a-f]{64}"/g, `"${"a".repeat(64)}"`))
        : record,
    );
    const rolling = coder.build({ storage }).saved.rollbackToCheckpoint(target);
    await expect(rolling).rejects.toMatchObject({
      code: expect.stringMatching(/unreadable_value|file_conflict/) as string,
    });
    expect(treeOf(coder.root)).not.toHaveProperty("old");
  });
});

describe("a modified stored step", () => {
  it.each([
    [{ kind: "file", path: "../escaped", after: content }, "path_not_allowed"],
    [{ kind: "file", path: ".git/config", after: content }, "path_not_allowed"],
    [{ kind: "folder", path: ".." }, "path_not_allowed"],
    [{ kind: "command", path: "x" }, "unreadable_value"],
    ["rm -rf", "unreadable_value"],
  ])("a stored restore step is refused: %j", async (step, code) => {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    const { workspace } = coder.build();
    const tree = treeOf(coder.root);
    const request = {
      agentId: "coder",
      checkpointId: "x",
      content: async () => new Uint8Array([1]),
      abortSignal: new AbortController().signal,
      onFailure: "stop",
      keep: async () => {},
    } as const;
    const applied = (async () => workspace.apply(step, request))();
    await expect(applied).rejects.toMatchObject({ code });
    expect(treeOf(coder.root)).toEqual(tree);
  });
});

describe("a malicious link", () => {
  it("a rollback does not write through a link that replaced a directory", async () => {
    const root = start();
    mkdirSync(join(root, "dir"));
    writeFileSync(join(root, "dir/x"), "1");
    const coder = new Coder([["write_file", { path: "dir/x", content: "2" }]], { root });
    await coder.run();
    const outside = temporaryFolder();
    writeFileSync(join(outside, "x"), "2");
    renameSync(join(root, "dir"), join(root, "moved"));
    symlinkSync(outside, join(root, "dir"));
    const rolling = coder.rollBack(0, { onConflict: () => "use_checkpoint" });
    await expect(rolling).rejects.toMatchObject({
      code: "file_conflict",
      conflicts: [{ kind: "file_unreachable", path: "dir/x", options: ["skip", "abort"] }],
    });
    expect(treeOf(outside)).toEqual({ x: "644 2" });
  });

  it("a link that is repeatedly created while files are written is never followed", async () => {
    const root = start();
    const outside = temporaryFolder();
    mkdirSync(join(root, "dir"));
    const writes = Array.from({ length: 40 }, (_, at): Call => ["write_file", { path: "dir/x", content: `${at}` }]);
    const coder = new Coder([writes], { root });
    const [dir, aside] = [join(root, "dir"), join(root, "aside")];
    let racing = true;
    const race = (async () => {
      while (racing) {
        await rename(dir, aside);
        await putInstead(dir, () => symlink(outside, dir));
        await putInstead(dir, () => rename(aside, dir));
      }
    })();
    const outputs = await coder.run();
    racing = false;
    await race;
    expect(outputs).toHaveLength(40);
    expect(treeOf(outside)).toEqual({});
  });

  it("a rollback replaces a link that others put in place of a file and keeps its target", async () => {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    const outside = temporaryFolder();
    writeFileSync(join(outside, "target"), "untouched");
    chmodSync(join(outside, "target"), 0o600);
    rmSync(join(coder.root, "doc.md"));
    symlinkSync(join(outside, "target"), join(coder.root, "doc.md"));
    await coder.rollBack(0, { onConflict: () => "use_checkpoint" });
    expect(lstatSync(join(coder.root, "doc.md")).isFile()).toBe(true);
    expect(treeOf(outside)).toEqual({ target: "600 untouched" });
  });
});

describe("preview", () => {
  it("a preview uses the last accessed agent or the named one", async () => {
    const coder = new Coder(calls, { root: start() });
    await coder.run();
    const target = await coder.checkpointAt(0);
    const { workspace, agent } = coder.build();
    await agent.run("go", { agentId: "another" });
    await expect(workspace.preview(target, { agentId: "nobody" })).rejects.toMatchObject({
      code: "checkpoint_not_found",
    });
    expect(await workspace.preview(target, { agentId: "coder" })).toHaveLength(3);
  });
});

/** Takes away what is at a path and puts something else there, however often the tool makes the folder anew meanwhile. */
async function putInstead(path: string, put: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await rm(path, { recursive: true, force: true });
      return await put();
    } catch (error) {
      if (!["EEXIST", "ENOTEMPTY"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
}
