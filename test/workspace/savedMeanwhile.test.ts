import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LogAppend, LogPersistenceStorageProvider, OwnedLog } from "agent-persistence/storage";
import { crashAfter } from "agent-persistence/testing";
import { nodeSha256 } from "../../src/internal/sha256/nodeSha256.ts";
import { logStorages } from "../persistence/support/storages.ts";
import { type Call, Coder, temporaryFolder, treeOf } from "./fixture.ts";

/** The storage, with something that happens while the first note of a change becomes durable. */
function whileNoted(storage: LogPersistenceStorageProvider, action: () => void): LogPersistenceStorageProvider {
  let isDone = false;
  const { log } = storage;
  const open = log.open.bind(log);
  const watched = (owned: OwnedLog): OwnedLog => {
    const append = owned.append.bind(owned);
    return Object.assign(owned, {
      append: (entry: LogAppend, position: number) => {
        const isNote = entry.records.some(({ kind }) => kind === "note");
        if (isNote && !isDone) action();
        isDone ||= isNote;
        return append(entry, position);
      },
    });
  };
  return Object.assign(storage, {
    log: Object.assign(log, { open: async (...given: Parameters<typeof open>) => watched(await open(...given)) }),
  });
}

const text = (...changed: readonly (readonly [number, string])[]): string => {
  const lines = Array.from({ length: 12 }, (_, at) => `line ${at}\n`);
  for (const [at, line] of changed) lines[at] = `${line}\n`;
  return lines.join("");
};

describe.each(logStorages)("a save by others while a tool changes the file, $name", ({ open }) => {
  /** A person saves `doc` while the agent's call of a tool is being recorded. */
  async function saving(call: Call, save: (doc: string) => void): Promise<Coder> {
    const root = temporaryFolder();
    const doc = join(root, "doc");
    writeFileSync(doc, text());
    const storage = whileNoted((await open())(), () => save(doc));
    const coder = new Coder([call], { root, storage });
    await coder.run();
    return coder;
  }
  const mine = text([9, "mine"]);

  it("is the content that the tool edits, and a rollback with merge keeps it", async () => {
    const edit: Call = ["edit_file", { path: "doc", oldText: "line 2\n", newText: "the agent's\n" }];
    const coder = await saving(edit, (doc) => writeFileSync(doc, mine));
    expect(treeOf(coder.root)).toEqual({ doc: `644 ${text([2, "the agent's"], [9, "mine"])}` });
    await expect(coder.rollBack(0)).rejects.toMatchObject({ code: "file_conflict", conflicts: [{ path: "doc" }] });
    await coder.rollBack(0, { onConflict: () => "merge" });
    expect(treeOf(coder.root)).toEqual({ doc: `644 ${mine}` });
  });

  it.each<Call>([
    ["write_file", { path: "doc", content: "new" }],
    ["delete_file", { path: "doc" }],
  ])("is recorded before it is replaced: %s", async (...call) => {
    const coder = await saving(call, (doc) => writeFileSync(doc, mine));
    await expect(coder.rollBack(0)).rejects.toMatchObject({ code: "file_conflict", conflicts: [{ path: "doc" }] });
    const kept = await coder.build().workspace.contentOf(nodeSha256.hex(mine));
    expect(new TextDecoder().decode(kept)).toBe(mine);
  });

  it("is moved with the file", async () => {
    const coder = await saving(["move_file", { from: "doc", to: "moved" }], (doc) => writeFileSync(doc, mine));
    expect(treeOf(coder.root)).toEqual({ moved: `644 ${mine}` });
  });

  it("stays at the target path of the tool", async () => {
    const coder = await saving(["move_file", { from: "doc", to: "moved" }], (doc) => {
      writeFileSync(join(doc, "../moved"), "mine");
    });
    expect(treeOf(coder.root)).toEqual({ doc: `644 ${text()}`, moved: "644 mine" });
  });

  it("stays deleted, and the tool reports it", async () => {
    const edit: Call = ["edit_file", { path: "doc", oldText: "line 2\n", newText: "the agent's\n" }];
    const coder = await saving(edit, (doc) => rmSync(doc));
    expect(treeOf(coder.root)).toEqual({});
  });
});

it("an edit that is repeated after a person's edit is made once, whenever the process ends", async () => {
  for (let saves = 0; ; saves++) {
    const root = temporaryFolder();
    writeFileSync(join(root, "doc"), text());
    const coder = new Coder([["edit_file", { path: "doc", oldText: "line 2\n", newText: "line 2\nagain\n" }]], {
      root,
    });
    const crash = (after: number) =>
      coder
        .build({ storage: crashAfter(coder.storage, after) })
        .agent.run("go")
        .catch(() => undefined);
    await crash(4);
    writeFileSync(join(root, "doc"), text([9, "mine"]));
    if ((await crash(saves)) !== undefined) return expect(saves).toBeGreaterThan(3);
    await coder.build().agent.run("go");
    expect([saves, treeOf(root)]).toEqual([saves, { doc: `644 ${text([2, "line 2\nagain"], [9, "mine"])}` }]);
  }
});

it("an edit that a crash interrupted after the write is made once, even if a person edits the file before the resume", async () => {
  const written: boolean[] = [];
  for (const saves of [3, 4, 5]) {
    const root = temporaryFolder();
    const doc = join(root, "doc");
    writeFileSync(doc, text());
    const edit: Call = ["edit_file", { path: "doc", oldText: "line 2\n", newText: "line 2\nagain\n" }];
    const coder = new Coder([edit], { root });
    const { agent } = coder.build({ storage: crashAfter(coder.storage, saves) });
    await agent.run("go").catch(() => undefined);
    const isWritten = readFileSync(doc, "utf8").includes("again");
    written.push(isWritten);
    writeFileSync(doc, text([9, "mine"], ...(isWritten ? [[2, "line 2\nagain"] as const] : [])));
    await coder.build().agent.run("go");
    expect([saves, treeOf(root)]).toEqual([saves, { doc: `644 ${text([2, "line 2\nagain"], [9, "mine"])}` }]);
  }
  expect(written).toContain(true);
});
