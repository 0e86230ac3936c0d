import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AIAgent, InMemoryPersistenceStorageProvider, Persistence, persistence, tool } from "agent-persistence";
import { inspect } from "agent-persistence/inspect";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { z } from "zod";
import { logStorages } from "../persistence/support/storages.ts";
import { Coder, temporaryFolder, treeOf, type Call } from "./fixture.ts";

const calls: readonly Call[] = [
  ["write_file", { path: "a", content: "one" }],
  ["write_file", { path: "new/b", content: "b" }],
  ["edit_file", { path: "a", oldText: "one", newText: "two" }],
  ["delete_file", { path: "old" }],
  ["move_file", { from: "a", to: "c" }],
];

/** A coder that has done all of its work, and the id of its last checkpoint. */
async function coded(options: ConstructorParameters<typeof Coder>[1] = {}) {
  const root = temporaryFolder();
  writeFileSync(join(root, "old"), "old");
  const before = treeOf(root);
  const coder = new Coder(calls, { root, ...options });
  await coder.run();
  const { saved } = coder.build();
  const latest = await saved.getLatestCheckpoint();
  return { coder, root, before, after: treeOf(root), latest, head: latest?.checkpointId ?? "" };
}

describe.each(logStorages)("a redo of files, $name", ({ open }) => {
  it("restores messages and files of a checkpoint that a rollback left", async () => {
    const { coder, root, before, after, latest, head } = await coded({ storage: (await open())() });
    const { agent, saved } = coder.build();
    await coder.rollBack(0);
    expect(treeOf(root)).toEqual(before);
    const first = await coder.checkpointAt(0);

    const report = await saved.rollbackToCheckpoint(head);

    expect(report).toMatchObject({ checkpointId: head, commonAncestorId: first, reverted: [], stayedReverted: [] });
    expect(treeOf(root)).toEqual(after);
    expect(await saved.getMessages()).toEqual(latest?.messageHistory);
    expect(await saved.getTaskName()).toBeUndefined();
    expect(await agent.resume()).toMatchObject({ output: "done" });
    expect(treeOf(root)).toEqual(after);
  });

  it("goes to each checkpoint and back, any number of times", async () => {
    const { coder, root, before, after, head } = await coded({ storage: (await open())() });
    const { saved } = coder.build();
    const ids = await Promise.all(calls.map((_, turn) => coder.checkpointAt(turn)));
    const trees = new Map([[ids[0], before]]);
    for (const id of ids.toReversed()) {
      await saved.rollbackToCheckpoint(id);
      trees.set(id, treeOf(root));
    }
    for (const id of [head, ids[2], ids[4], ids[0], head, ids[3], ids[1], head]) {
      await saved.rollbackToCheckpoint(id ?? "");
      expect(treeOf(root)).toEqual(id === head ? after : trees.get(id));
    }
  });

  it("previews its changes", async () => {
    const { coder, root, head } = await coded({ storage: (await open())() });
    const { saved, workspace } = coder.build();
    await coder.rollBack(1);
    const second = await coder.checkpointAt(1);
    const changes = ["a delete", "c write", "new/b write", "old delete"];
    const previewed = await workspace.preview(head);
    expect(previewed.map(({ path, change }) => `${path} ${change}`).sort()).toEqual(changes);
    const preview = await inspect(coder.storage as never).previewRollback("coder", head);
    expect(preview).toMatchObject({ commonAncestorId: second, revert: [], stayedReverted: [] });
    expect(preview.files.map(({ path, change }) => [path, change])).toEqual([
      ["a", "deleted"],
      ["c", "created"],
      ["new/b", "created"],
      ["old", "deleted"],
    ]);
    const file = await workspace.fileAt("c", head);
    expect(file?.kind === "file" && new TextDecoder().decode(file.content)).toBe("two");
    expect(await workspace.fileAt("old", head)).toEqual({ kind: "missing" });
    await saved.rollbackToCheckpoint(head);
    expect((await inspect(coder.storage as never).previewRollback("coder", head)).files).toEqual([]);
    expect(treeOf(root)).not.toHaveProperty("a");
  });
});

describe("a redo of files that a person edits", () => {
  it("reports a file that was edited since the rollback and changes no files without an answer", async () => {
    const { coder, root, head } = await coded();
    await coder.rollBack(0);
    writeFileSync(join(root, "c"), "mine");
    const edited = treeOf(root);
    await expect(coder.build().saved.rollbackToCheckpoint(head)).rejects.toMatchObject({
      code: "file_conflict",
      conflicts: [{ kind: "file_modified_externally", path: "c" }],
    });
    expect(treeOf(root)).toEqual(edited);
  });

  it.each([
    ["use_checkpoint", "two"],
    ["use_current", "mine"],
  ] as const)("follows the answer %s", async (answer, content) => {
    const { coder, root, head, after } = await coded();
    await coder.rollBack(0);
    writeFileSync(join(root, "c"), "mine");
    const { saved } = coder.build({ onConflict: () => answer });
    await saved.rollbackToCheckpoint(head);
    expect(treeOf(root)).toEqual({ ...after, c: `644 ${content}` });
  });

  it("merges an edit into the file at the checkpoint", async () => {
    const root = temporaryFolder();
    const lines = ["1", "2", "3", "4", "5", "6", "7"];
    writeFileSync(join(root, "a"), lines.join("\n"));
    const coder = new Coder([["edit_file", { path: "a", oldText: "2", newText: "two" }]], { root });
    await coder.run();
    const head = (await coder.build().saved.getLatestCheckpoint())?.checkpointId ?? "";
    await coder.rollBack(0);
    writeFileSync(join(root, "a"), lines.join("\n").replace("6", "six"));
    await coder.build({ onConflict: () => "merge" }).saved.rollbackToCheckpoint(head);
    expect(readFileSync(join(root, "a"), "utf8")).toBe("1\ntwo\n3\n4\n5\nsix\n7");
    await coder.build({ onConflict: () => "merge" }).saved.rollbackToCheckpoint(await coder.checkpointAt(0));
    expect(readFileSync(join(root, "a"), "utf8")).toBe("1\n2\n3\n4\n5\nsix\n7");
  });

  it("reports a file that was deleted since the rollback", async () => {
    const { coder, root, head } = await coded();
    await coder.rollBack(0);
    rmSync(join(root, "old"));
    const report = await coder.build().saved.rollbackToCheckpoint(head);
    expect(report.participants[0]?.steps.map(({ subject }) => subject)).not.toContain("old");
  });
});

it("a redo restores changes of captured commands, with directories and permissions", async () => {
  const root = temporaryFolder();
  writeFileSync(join(root, "a"), "start\n");
  const workspace = new Workspace({ root });
  const shell = tool({
    name: "shell",
    description: "",
    inputSchema: z.object({ command: z.string() }),
    execute: ({ command }, { context }) =>
      workspace.capture(context, () => execFileSync("sh", ["-c", command], { cwd: root }).toString()),
  });
  const commands = ["mkdir -p x/y && echo 1 > x/y/z && chmod 755 x/y/z", "rm a && ln -s x/y/z l", "mv x w && mkdir e"];
  const agent = new AIAgent({
    id: "coder",
    promptExecutor: scriptedModel([
      ...commands.map((command) => ({ toolCalls: [{ toolName: "shell", input: { command } }] })),
      "done",
    ]),
    llmModel: "scripted",
    tools: [shell],
  }).install(Persistence, { storage: new InMemoryPersistenceStorageProvider(), participants: [workspace] });
  const trees = [treeOf(root)];
  await agent.run("go");
  const saved = persistence(agent).agent();
  const nodes = await saved.getCheckpoints({ nodeId: "callModel" });
  const after = treeOf(root);
  const head = (await saved.getLatestCheckpoint())?.checkpointId ?? "";
  await saved.rollbackToCheckpoint(nodes[0]?.checkpointId ?? "");
  expect(treeOf(root)).toEqual(trees[0]);
  const { stayedReverted } = await saved.rollbackToCheckpoint(head);
  expect(treeOf(root)).toEqual(after);
  expect(stayedReverted).toEqual([]);
});

it("a redo reports contents that pruning removed", async () => {
  const { coder, root, before, head } = await coded();
  await coder.rollBack(0);
  const { agent, saved } = coder.build();
  await saved.nameCheckpoint(head, "done");
  await persistence(agent).prune({ policy: { maxCheckpointsPaused: 2 } });
  const report = await saved.rollbackToCheckpoint("done");
  const steps = report.participants[0]?.steps ?? [];
  for (const [path, found] of Object.entries(treeOf(root)))
    if (!(path in before)) expect(["folder", undefined]).toContain(found);
  expect(steps).toContainEqual({ subject: "c", change: "not restored: has content at the checkpoint that was pruned" });
});
