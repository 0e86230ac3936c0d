import { execFileSync } from "node:child_process";
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FileConflict, FileResolution } from "agent-persistence/workspace";
import { logStorages } from "../../persistence/support/storages.ts";
import { Coder, temporaryFolder, treeOf } from "../fixture.ts";
import { aheadOfChanges } from "./changingCalls.ts";
import { put, Shell, steps } from "../Shell.ts";

const lines = (changed: Readonly<Record<number, string>> = {}): string =>
  Array.from({ length: 12 }, (_, at) => `${changed[at] ?? `line ${at}`}\n`).join("");

/** Answers each conflict the same way, and remembers what was asked. */
function answering(answer: FileResolution) {
  const asked: FileConflict[] = [];
  const onConflict = (conflict: FileConflict): FileResolution => {
    asked.push(conflict);
    return answer;
  };
  return { asked, onConflict };
}

/** Runs pieces of work in captures; what stands before a piece is somebody else's. */
async function ran(
  root: string,
  work: readonly { readonly others?: () => void; readonly agent: () => void }[],
  options: ConstructorParameters<typeof Shell>[2] = {},
): Promise<Shell> {
  const shell = new Shell(
    root,
    work.map(({ agent }) => agent),
    { ...options, before: (at) => work[at]?.others?.() },
  );
  await shell.run();
  return shell;
}

describe.each(logStorages)("the work of others, $name", ({ open }) => {
  const storage = async () => ({ storage: (await open())() });

  it.each([
    ["a rule that the command weakens", () => {}, (root: string) => put(root, { ".gitignore": "x" })],
    ["a rule that the command removes", () => {}, (root: string) => rmSync(join(root, ".gitignore"))],
    [
      "a directory that was ignored",
      (root: string) => put(root, { ".gitignore": ".env\nbuild\n", "build/out/app": "mine" }),
      (root: string) => put(root, { ".gitignore": "x" }),
    ],
  ])("a file that was ignored is not attributed to the agent after %s", async (_name, start, command) => {
    const root = temporaryFolder();
    put(root, { ".gitignore": ".env\n", ".env": "the key" });
    start(root);
    const before = treeOf(root);
    const shell = await ran(root, [{ agent: () => command(root) }], await storage());
    await shell.rollBack(0);
    expect(treeOf(root)).toEqual(before);
  });

  it("a rule added by a command deletes no file, and changes of the command are reverted", async () => {
    const root = temporaryFolder();
    put(root, { "a.log": "1", "kept.log": "kept" });
    const before = treeOf(root);
    const { asked, onConflict } = answering("abort");
    const shell = await ran(
      root,
      [
        { agent: () => put(root, { "a.log": "2" }) },
        { agent: () => put(root, { ".gitignore": "*.log\n", "a.log": "3" }) },
      ],
      { ...(await storage()), onConflict },
    );
    const [latest] = (await shell.build().saved.getCheckpoints()).slice(-1);
    expect(latest?.fileChanges.deleted).toEqual([]);
    await shell.rollBack(0);
    expect([treeOf(root), asked]).toEqual([before, []]);
  });

  it.each([
    ["deleted its file", undefined],
    ["restored the earlier content", lines()],
  ])("an edit that the agent discarded is a conflict when the agent %s", async (_name, start) => {
    const root = temporaryFolder();
    if (start !== undefined) put(root, { doc: start });
    const { asked, onConflict } = answering("use_current");
    const shell = await ran(
      root,
      [
        { agent: () => put(root, { doc: lines({ 2: "the agent's" }) }) },
        {
          others: () => put(root, { doc: lines({ 2: "the agent's", 9: "mine" }) }),
          agent: () => (start === undefined ? rmSync(join(root, "doc")) : put(root, { doc: start })),
        },
      ],
      { ...(await storage()), onConflict },
    );
    await shell.rollBack(0);
    expect(asked).toEqual([{ kind: "file_modified_externally", path: "doc" }]);
  });

  it("a file of others in a directory that is a file at the checkpoint is reported, and the file is restored", async () => {
    const root = temporaryFolder();
    put(root, { doc: "1" });
    const before = treeOf(root);
    const work = [
      { agent: () => rmSync(join(root, "doc")) },
      {
        others: () => put(root, { "doc/mine": "mine", "doc/sub/x": "mine" }),
        agent: () => rmSync(join(root, "doc"), { recursive: true }),
      },
    ];
    const shell = await ran(root, work, await storage());
    const { participants } = await shell.rollBack(0);
    expect(participants.flatMap((participant) => participant.steps)).toEqual(
      expect.arrayContaining([
        { subject: "doc", change: "write" },
        ...["doc/mine", "doc/sub", "doc/sub/x"].map((subject) => ({
          subject,
          change: "not restored: has no room, because a directory above it is a file at the checkpoint",
        })),
      ]),
    );
    expect(treeOf(root)).toEqual(before);
  });

  it("a file of others in such a directory is a conflict where the agent moved it", async () => {
    const root = temporaryFolder();
    put(root, { doc: "1" });
    const { asked, onConflict } = answering("use_current");
    const work = [
      { agent: () => rmSync(join(root, "doc")) },
      {
        others: () => put(root, { "doc/mine": "mine" }),
        agent: () => renameSync(join(root, "doc"), join(root, "moved")),
      },
    ];
    const shell = await ran(root, work, { ...(await storage()), onConflict });
    await shell.rollBack(0);
    expect(asked).toEqual([{ kind: "file_modified_externally", path: "moved/mine" }]);
    expect(treeOf(root)).toEqual({ doc: "644 1", moved: "folder", "moved/mine": "644 mine" });
  });

  it("a file that others returned to its checkpoint content is not a conflict", async () => {
    const root = temporaryFolder();
    put(root, { doc: lines() });
    const { asked, onConflict } = answering("abort");
    const shell = await ran(
      root,
      [
        { agent: () => put(root, { doc: "1" }) },
        { others: () => put(root, { doc: "mine" }), agent: () => put(root, { doc: "2" }) },
      ],
      { ...(await storage()), onConflict },
    );
    put(root, { doc: lines() });
    await shell.rollBack(0);
    expect([treeOf(root), asked]).toEqual([{ doc: `644 ${lines()}` }, []]);
  });

  it("an edit between two changes of the agent is a conflict and can be merged", async () => {
    const root = temporaryFolder();
    put(root, { doc: lines() });
    const { asked, onConflict } = answering("merge");
    const shell = await ran(
      root,
      [
        { agent: () => put(root, { doc: lines({ 1: "agent" }) }) },
        {
          others: () => put(root, { doc: lines({ 1: "agent", 9: "person" }) }),
          agent: () => put(root, { doc: lines({ 1: "agent", 5: "agent", 9: "person" }) }),
        },
      ],
      { ...(await storage()), onConflict },
    );
    await shell.rollBack(0);
    expect(asked).toEqual([{ kind: "file_modified_externally", path: "doc" }]);
    expect(treeOf(root)).toEqual({ doc: `644 ${lines({ 9: "person" })}` });
  });

  it.each<readonly [string, (root: string) => void, FileResolution, string | undefined]>([
    ["deletes a file that the agent deleted and recreated", (root) => rmSync(join(root, "f")), "skip", undefined],
    ["restores an earlier state of the agent", (root) => put(root, { f: "second" }), "use_current", "644 second"],
    ["changes its permissions", (root) => chmodSync(join(root, "f"), 0o600), "use_current", "600 third"],
  ])("somebody who %s gets a conflict", async (_name, others, answer, left) => {
    const root = temporaryFolder();
    put(root, { f: "first" });
    const { asked, onConflict } = answering(answer);
    const work = [
      { agent: () => put(root, { f: "second" }) },
      { agent: () => rmSync(join(root, "f")) },
      { agent: () => put(root, { f: "third" }) },
    ];
    const shell = await ran(root, work, { ...(await storage()), onConflict });
    others(root);
    await shell.rollBack(0);
    expect([asked.length, treeOf(root)["f"]]).toEqual([1, left]);
  });

  it("an edit that the agent then moved is a conflict at its new path", async () => {
    const root = temporaryFolder();
    put(root, { "d/e": "1" });
    const { asked, onConflict } = answering("use_current");
    const work = [
      { agent: () => put(root, { "d/e": "2" }) },
      { others: () => put(root, { "d/e": "person" }), agent: () => renameSync(join(root, "d/e"), join(root, "f")) },
    ];
    const shell = await ran(root, work, { ...(await storage()), onConflict });
    await shell.rollBack(0);
    expect(asked.map(({ kind, path }) => `${kind} ${path}`).toSorted()).toEqual([
      "file_modified_externally d/e",
      "file_modified_externally f",
    ]);
    expect(treeOf(root)["f"]).toBe("644 person");
  });

  it.each<[string, (root: string) => void, FileResolution, Readonly<Record<string, string>>]>([
    ["removed", (root) => rmSync(join(root, "d")), "use_current", { d: "folder", "d/x": "644 1" }],
    ["changed", (root) => put(root, { d: "agent" }), "use_current", { d: "644 agent" }],
  ])(
    "a file of others instead of a directory is a conflict if the agent %s it",
    async (_name, change, answer, left) => {
      const root = temporaryFolder();
      put(root, { "d/x": "1", other: "1" });
      const { asked, onConflict } = answering(answer);
      const work = [
        { agent: () => rmSync(join(root, "d"), { recursive: true }) },
        { others: () => put(root, { d: "person" }), agent: () => (change(root), put(root, { other: "2" })) },
      ];
      const handler = (conflict: FileConflict): FileResolution =>
        conflict.kind === "file_modified_externally" ? onConflict(conflict) : "skip";
      const shell = await ran(root, work, { ...(await storage()), onConflict: handler });
      await shell.rollBack(0);
      expect([asked.map(({ path }) => path), treeOf(root)]).toEqual([["d"], { ...left, other: "644 1" }]);
    },
  );

  it("a directory that the agent moved and linked is restored without a conflict", async () => {
    const root = temporaryFolder();
    put(root, { "conf/a": "1", "conf/deep/b": "2" });
    const before = treeOf(root);
    const move = () => {
      renameSync(join(root, "conf"), join(root, "conf-1"));
      symlinkSync("conf-1", join(root, "conf"));
    };
    const shell = await ran(root, [{ agent: move }], await storage());
    await shell.rollBack(0);
    expect(treeOf(root)).toEqual(before);
  });

  it("a directory that somebody moved behind a link is a conflict and can be skipped", async () => {
    const root = temporaryFolder();
    put(root, { "conf/a": "1", other: "1" });
    const { asked, onConflict } = answering("skip");
    const shell = await ran(root, [{ agent: () => put(root, { "conf/a": "2", other: "2" }) }], {
      ...(await storage()),
      onConflict,
    });
    renameSync(join(root, "conf"), join(root, "conf-1"));
    symlinkSync("conf-1", join(root, "conf"));
    const { saved, workspace } = shell.build();
    const [first] = await saved.getCheckpoints({ nodeId: "callModel" });
    expect(await workspace.preview(first!.checkpointId)).toEqual([
      { path: "conf/a", change: "conflict" },
      { path: "other", change: "write" },
    ]);
    const report = await shell.rollBack(0);
    expect(asked).toMatchObject([
      { kind: "file_unreachable", path: "conf/a", reason: expect.stringContaining("link") as string },
    ]);
    expect(steps(report)).toContainEqual({ subject: "conf/a", change: "skip" });
    expect(treeOf(root)).toMatchObject({ "conf-1/a": "644 2", other: "644 1" });
  });

  it("a file of somebody else in a directory of the agent blocks the rollback without changes", async () => {
    const root = temporaryFolder();
    put(root, { a: "a file", other: "1" });
    const toFolder = () => {
      rmSync(join(root, "a"));
      put(root, { "a/b": "agent", other: "2" });
    };
    const shell = await ran(root, [{ agent: toFolder }], await storage());
    put(root, { "a/person": "mine" });
    const before = treeOf(root);
    await expect(shell.rollBack(0)).rejects.toMatchObject({
      code: "file_conflict",
      conflicts: [{ kind: "file_unreachable", path: "a", options: ["skip", "abort"] }],
    });
    expect(treeOf(root)).toEqual(before);
  });

  it("a file of somebody else instead of a directory is one conflict, and the rest is restored", async () => {
    const root = temporaryFolder();
    put(root, { "d/x": "1", other: "1" });
    const { asked, onConflict } = answering("skip");
    const shell = await ran(root, [{ agent: () => put(root, { "d/x": "2", other: "2" }) }], {
      ...(await storage()),
      onConflict,
    });
    rmSync(join(root, "d"), { recursive: true });
    put(root, { d: "a file of mine" });
    await shell.rollBack(0);
    expect([asked.map(({ kind }) => kind), treeOf(root)]).toEqual([
      ["file_unreachable"],
      { d: "644 a file of mine", other: "644 1" },
    ]);
  });
});

describe("a directory of the agent that others replaced", () => {
  it.each<[string, (root: string) => void, (root: string) => void]>([
    [
      "removed and replaced by a file",
      (root) => rmSync(join(root, "d"), { recursive: true }),
      (root) => put(root, { d: "mine" }),
    ],
    [
      "removed and replaced by a link",
      (root) => rmSync(join(root, "d"), { recursive: true }),
      (root) => symlinkSync("nowhere", join(root, "d")),
    ],
    [
      "removed while empty and replaced by a file",
      (root) => rmSync(join(root, "empty"), { recursive: true }),
      (root) => put(root, { empty: "mine" }),
    ],
    [
      "made inaccessible and replaced by a link",
      (root) => chmodSync(join(root, "d/sub"), 0o700),
      (root) => {
        renameSync(join(root, "d"), join(root, "e"));
        symlinkSync("e", join(root, "d"));
      },
    ],
    [
      "created and replaced by a link",
      (root) => put(root, { "d/new/f": "made" }),
      (root) => {
        renameSync(join(root, "d"), join(root, "e"));
        symlinkSync("e", join(root, "d"));
      },
    ],
  ])("does not stop a rollback if it was %s", async (_name, agent, others) => {
    const root = temporaryFolder();
    put(root, { "d/x": "1", "d/sub/y": "1", other: "1" });
    mkdirSync(join(root, "empty"));
    const command = () => {
      put(root, { "d/x": "2", other: "2" });
      agent(root);
    };
    const shell = await ran(root, [{ agent: command }], { onConflict: () => "skip" });
    const left = treeOf(root);
    others(root);
    const theirs = Object.entries(treeOf(root)).filter(([path, there]) => left[path] !== there);
    await shell.rollBack(0);
    expect(treeOf(root)).toMatchObject({ ...Object.fromEntries(theirs), other: "644 1" });
  });

  it.each(["EPERM", "EBUSY"])(
    "a file that the system refuses to replace is a conflict and can be skipped: %s",
    async (code) => {
      const root = temporaryFolder();
      put(root, { f: "1", other: "1" });
      const { asked, onConflict } = answering("skip");
      const shell = await ran(root, [{ agent: () => put(root, { f: "2", other: "2" }) }], { onConflict });
      const refuses = (_call: number, path: string) => {
        if (path.endsWith("/f")) throw Object.assign(new Error("refused"), { code });
      };
      await aheadOfChanges(refuses, () => shell.rollBack(0));
      expect([asked.map(({ kind, path }) => `${kind} ${path}`), treeOf(root)]).toEqual([
        ["file_unreachable f"],
        { f: "644 2", other: "644 1" },
      ]);
    },
  );

  it("a file that the system refuses to replace blocks the rollback without an answer", async () => {
    const root = temporaryFolder();
    put(root, { f: "1", other: "1" });
    const shell = await ran(root, [{ agent: () => put(root, { f: "2", other: "2" }) }]);
    const refuses = (_call: number, path: string) => {
      if (path.endsWith("/f")) throw Object.assign(new Error("refused"), { code: "EPERM" });
    };
    await expect(aheadOfChanges(refuses, () => shell.rollBack(0))).rejects.toMatchObject({
      code: "file_conflict",
      conflicts: [{ kind: "file_unreachable", path: "f", options: ["skip", "abort"] }],
    });
    expect(treeOf(root)).toEqual({ f: "644 2", other: "644 2" });
    await shell.rollBack(0);
    expect(treeOf(root)).toEqual({ f: "644 1", other: "644 1" });
  });

  it("is left with its contents if others put a file in its place during a rollback", async () => {
    const root = temporaryFolder();
    put(root, { "conf/c": "1", other: "1" });
    const command = () => {
      renameSync(join(root, "conf"), join(root, "conf1"));
      symlinkSync("conf1", join(root, "conf"));
      put(root, { other: "2" });
    };
    const skips = ({ kind }: FileConflict): FileResolution =>
      kind === "file_modified_externally" ? "use_current" : "skip";
    const shell = await ran(root, [{ agent: command }], { onConflict: skips });
    const killed = () => {
      throw new Error("the process has ended");
    };
    await expect(aheadOfChanges(killed, () => shell.rollBack(0))).rejects.toThrow("the process has ended");
    rmSync(join(root, "conf"));
    put(root, { conf: "mine" });
    await shell.rollBack(0);
    expect(treeOf(root)).toMatchObject({ conf: "644 mine", other: "644 1" });
  });
});

describe("directories", () => {
  it("permissions of directories and empty directories are restored", async () => {
    const root = temporaryFolder();
    for (const folder of ["empty/inner", "private", "shut"]) mkdirSync(join(root, folder), { recursive: true });
    put(root, { "private/a": "1", "shut/a": "1" });
    chmodSync(join(root, "private"), 0o700);
    chmodSync(join(root, "empty/inner"), 0o750);
    const modes = () =>
      ["empty", "empty/inner", "private", "shut"].map((path) => (lstatSync(join(root, path)).mode & 0o777).toString(8));
    const before = [treeOf(root), modes()];
    const shell = await ran(root, [
      { agent: () => rmSync(join(root, "empty"), { recursive: true }) },
      { agent: () => chmodSync(join(root, "private"), 0o755) },
      {
        agent: () => {
          rmSync(join(root, "private"), { recursive: true });
          chmodSync(join(root, "shut"), 0o500);
          put(root, { "made/x": "1" });
        },
      },
    ]);
    const report = await shell.rollBack(0);
    expect([treeOf(root), modes()]).toEqual(before);
    expect(steps(report)).toContainEqual({ subject: "empty/inner", change: "restore folder" });
    expect(steps(report)).toContainEqual({ subject: "shut", change: "restore permissions" });
  });

  it("permissions that somebody else changed stay and are reported", async () => {
    const root = temporaryFolder();
    put(root, { "d/a": "1" });
    const shell = await ran(root, [{ agent: () => chmodSync(join(root, "d"), 0o500) }]);
    chmodSync(join(root, "d"), 0o711);
    const report = await shell.rollBack(0);
    expect(lstatSync(join(root, "d")).mode & 0o777).toBe(0o711);
    expect(steps(report)).toEqual([{ subject: "d", change: "not restored: others changed its permissions" }]);
  });
});

describe("content that a capture cannot store", () => {
  it("unsupported names are listed with the reason and reported when they change", async () => {
    const root = temporaryFolder();
    const latin = Buffer.concat([Buffer.from(`${root}/caf`), Buffer.from([0xe9])]);
    const change = (text: string) => () => {
      for (const name of ["git~1", ".git."]) put(root, { [name]: text });
      put(root, { ".notes.agent-tmp": text });
      writeFileSync(latin, text);
    };
    change("1")();
    const shell = await ran(root, [{ agent: change("22") }]);
    const { leftOut, files } = await shell.build().workspace.scan();
    expect(leftOut.map(({ path, reason }) => `${path} ${reason}`).toSorted()).toEqual([
      expect.stringMatching(/^\.git\. cannot be kept: .*\.git/),
      "caf\uFFFD has a name that is not UTF-8",
      expect.stringMatching(/^git~1 cannot be kept: .*\.git/),
    ]);
    expect(files).toBe(1);
    const report = await shell.rollBack(0);
    expect(readFileSync(join(root, ".notes.agent-tmp"), "utf8")).toBe("1");
    const told = steps(report) as readonly { readonly subject: string; readonly change: string }[];
    expect(
      told
        .filter(({ change: said }) => said.startsWith("not restored"))
        .map(({ subject }) => subject)
        .toSorted(),
    ).toEqual([".git.", "caf\uFFFD", "git~1"]);
  });

  it("a path that is too deep is listed and stops no rollback", async () => {
    const root = temporaryFolder();
    const deep = Array.from({ length: 110 }, () => "d").join("/");
    put(root, { a: "1" });
    const shell = await ran(root, [{ agent: () => put(root, { a: "2", [`${deep}/x`]: "deep" }) }]);
    const report = await shell.rollBack(0);
    expect(treeOf(root)["a"]).toBe("644 1");
    expect(steps(report)).toContainEqual({
      subject: expect.stringMatching(/^d\/d\//) as string,
      change: expect.stringContaining("100 folders deep") as string,
    });
  });

  it("a pipe blocks no scan, tool, capture or restore", async () => {
    const root = temporaryFolder();
    put(root, { f: "1", other: "1" });
    execFileSync("mkfifo", [join(root, "pipe")]);
    const { asked, onConflict } = answering("skip");
    const shell = await ran(root, [{ agent: () => put(root, { f: "2", other: "2" }) }], { onConflict });
    const { workspace } = shell.build();
    const reason = "is neither a file nor a link";
    expect((await workspace.scan()).leftOut).toEqual([{ path: "pipe", reason }]);
    rmSync(join(root, "f"));
    execFileSync("mkfifo", [join(root, "f")]);
    expect(await new Coder([["read_file", { path: "f" }]], { root }).run()).toEqual([
      expect.stringContaining(reason) as string,
    ]);
    const report = await shell.rollBack(0);
    expect(asked).toEqual([{ kind: "file_unreachable", path: "f", reason }]);
    expect(steps(report)).toEqual([
      { subject: "f", change: "skip" },
      { subject: "other", change: "write" },
    ]);
    expect(lstatSync(join(root, "f")).isFIFO()).toBe(true);
  });

  it("a setuid bit is not stored and is reported", async () => {
    const root = temporaryFolder();
    put(root, { tool: "1" });
    chmodSync(join(root, "tool"), 0o4755);
    const shell = await ran(root, [{ agent: () => put(root, { tool: "2" }) }]);
    const report = await shell.rollBack(0);
    expect(treeOf(root)).toEqual({ tool: "755 1" });
    expect(steps(report)).toContainEqual({ subject: "tool", change: expect.stringContaining("setuid") as string });
  });

  it("a setuid bit of a file that a tool changes is not stored and is reported", async () => {
    for (const call of [
      ["write_file", { path: "tool", content: "2" }],
      ["edit_file", { path: "tool", oldText: "1", newText: "2" }],
      ["delete_file", { path: "tool" }],
      ["move_file", { from: "tool", to: "moved" }],
    ] as const) {
      const root = temporaryFolder();
      put(root, { tool: "1" });
      chmodSync(join(root, "tool"), 0o4755);
      const coder = new Coder([call], { root });
      await coder.run();
      const report = await coder.rollBack(0);
      expect(treeOf(root)).toEqual({ tool: "755 1" });
      expect(steps(report)).toContainEqual({ subject: "tool", change: expect.stringContaining("setuid") as string });
    }
  });
});

describe("content available to a person", () => {
  it("a file can be read at a checkpoint", async () => {
    const root = temporaryFolder();
    put(root, { a: "1", untouched: "x" });
    const shell = await ran(root, [
      { agent: () => put(root, { a: "2", made: "new" }) },
      { agent: () => rmSync(join(root, "a")) },
    ]);
    const { saved, workspace } = shell.build();
    const ids = (await saved.getCheckpoints({ nodeId: "callModel" })).map(({ checkpointId }) => checkpointId);
    const at = async (path: string) =>
      Promise.all(
        ids.map(async (id) => {
          const found = await workspace.fileAt(path, id);
          return found?.kind === "file"
            ? `${new TextDecoder().decode(found.content)} ${found.mode.toString(8)}`
            : found?.kind;
        }),
      );
    expect(await at("a")).toEqual(["1 644", "2 644", "missing"]);
    expect(await at("made")).toEqual(["missing", "new 644", "new 644"]);
    expect(await at("untouched")).toEqual([undefined, undefined, undefined]);
    await expect(workspace.fileAt("../x", ids[0]!)).rejects.toMatchObject({ code: "path_not_allowed" });
    await expect(workspace.fileAt("a", "nowhere")).rejects.toMatchObject({ code: "checkpoint_not_found" });
  });

  it("a version replaced by use_checkpoint can be read, even if saved after the plan", async () => {
    const root = temporaryFolder();
    put(root, { a: "1", b: "1" });
    const shell = await ran(root, [{ agent: () => put(root, { a: "2", b: "2" }) }], {
      onConflict: (conflict) => {
        // The other file changes while somebody is asked about this one.
        if (conflict.path === "a") put(root, { b: "person's second" });
        return "use_checkpoint";
      },
    });
    put(root, { a: "person's first" });
    const report = await shell.rollBack(0);
    const replaced = (steps(report) as readonly { readonly replaced?: string }[]).map((step) => step.replaced ?? "");
    const { workspace } = shell.build();
    const contents = await Promise.all(
      replaced.map(async (hash) => new TextDecoder().decode(await workspace.contentOf(hash))),
    );
    expect(contents.toSorted()).toEqual(["person's first", "person's second"]);
    expect(treeOf(root)).toEqual({ a: "644 1", b: "644 1" });
    expect(await workspace.contentOf("0".repeat(64))).toBeUndefined();
    await expect(workspace.contentOf("a")).rejects.toMatchObject({ code: "invalid_input" });
  });

  it("a repeated call of a finished rollback returns the same report", async () => {
    const root = temporaryFolder();
    put(root, { a: "1", d: "1" });
    const shell = await ran(root, [{ agent: () => put(root, { a: "2" }) }, { agent: () => put(root, { d: "2" }) }], {
      onConflict: () => "use_current",
    });
    put(root, { a: "mine" });
    const first = await shell.rollBack(0);
    const checkpoints = (await shell.build().saved.getCheckpoints()).length;
    const again = await shell.rollBack(0);
    expect(again).toEqual(first);
    expect(steps(first)).toContainEqual({ subject: "a", change: "use_current" });
    expect((await shell.build().saved.getCheckpoints()).length).toBe(checkpoints);
  });
});
