import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { InMemoryPersistenceStorageProvider } from "agent-persistence";
import { StorageError } from "agent-persistence/errors";
import { ConflictResolver } from "agent-persistence/workspace";
import { temporaryFolder } from "../fixture.ts";
import { put, Shell } from "../Shell.ts";
import { aheadOfChanges } from "./changingCalls.ts";

/** More than one group of files. */
const names = Array.from({ length: 70 }, (_, at) => `f${at}`);
const filled = (content: string) => Object.fromEntries(names.map((name) => [name, `${content} ${name}`]));

async function changed() {
  const root = temporaryFolder();
  put(root, filled("old"));
  const shell = new Shell(root, [() => put(root, filled("new"))]);
  await shell.run();
  const { saved, workspace } = shell.build();
  const [first] = await saved.getCheckpoints({ nodeId: "callModel" });
  const rollBack = () => saved.rollbackToCheckpoint(first?.checkpointId ?? "", { onFailure: "leave" });
  const restored = () => names.filter((name) => readFileSync(join(root, name), "utf8") === `old ${name}`).length;
  return { saved, workspace, rollBack, restored, storage: shell.storage as InMemoryPersistenceStorageProvider };
}

it("a rollback that leaves failures and is stopped restores all files when it is repeated", async () => {
  const { saved, rollBack, restored } = await changed();
  let stopped: Promise<unknown> = Promise.resolve();
  const stopOnce = (change: number) => {
    if (change === 1) stopped = saved.stop({ reason: "deploy" }).catch((error: unknown) => error);
  };
  await aheadOfChanges(stopOnce, () => expect(rollBack()).rejects.toMatchObject({ code: "stop_requested" }));
  await stopped;
  await rollBack();
  expect(restored()).toBe(names.length);
});

it("a rollback that leaves failures and cannot read its storage restores all files when it is repeated", async () => {
  const { workspace, rollBack, restored, storage } = await changed();
  const { blobs } = storage.log;
  const get = blobs.get.bind(blobs);
  const apply = workspace.apply.bind(workspace);
  Object.assign(workspace, {
    apply: (...given: Parameters<typeof apply>) => {
      Object.assign(blobs, { get: () => Promise.reject(new StorageError("io", "read", "the blobs")) });
      return apply(...given);
    },
  });
  await expect(rollBack()).rejects.toMatchObject({ code: "storage_failed" });
  Object.assign(workspace, { apply });
  Object.assign(blobs, { get });
  await rollBack();
  expect(restored()).toBe(names.length);
});

it("a stopped rollback aborts the model that merges a file", async () => {
  const root = temporaryFolder();
  put(root, { "a.txt": "old\n" });
  let stop = () => {};
  const signals: AbortSignal[] = [];
  const execute = ({ abortSignal }: { readonly abortSignal: AbortSignal }) =>
    new Promise<never>((_resolve, reject) => {
      signals.push(abortSignal);
      abortSignal.addEventListener("abort", () => reject(new Error("aborted")));
      stop();
    });
  const conflictResolver = new ConflictResolver({
    automation: "model",
    model: { promptExecutor: { execute }, name: "m" },
  });
  const shell = new Shell(root, [() => put(root, { "a.txt": "new\n" })], {
    onConflict: () => "merge",
    conflictResolver,
  });
  await shell.run();
  put(root, { "a.txt": "of others\n" });
  const { saved } = shell.build();
  let stopped: Promise<unknown> = Promise.resolve();
  stop = () => {
    stopped = saved.stop({ reason: "deploy" }).catch((error: unknown) => error);
  };
  const [first] = await saved.getCheckpoints({ nodeId: "callModel" });
  await expect(saved.rollbackToCheckpoint(first?.checkpointId ?? "")).rejects.toMatchObject({ code: "stop_requested" });
  await stopped;
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
