import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AIAgent, InvalidInputError, Persistence } from "agent-persistence";
import { FilePersistenceStorageProvider } from "agent-persistence/file";
import { scriptedModel } from "agent-persistence/testing";
import { Workspace } from "agent-persistence/workspace";
import { describe, expect, it } from "vitest";
import { Coder, temporaryFolder, treeOf } from "./fixture.ts";
import { put, Shell, steps } from "./Shell.ts";

describe("a storage directory inside the workspace", () => {
  it.each(["state", "deep/state", "link/state"])(
    "the storage in the directory %s is not captured, and a rollback leaves it",
    async (folder) => {
      const root = temporaryFolder();
      mkdirSync(join(root, "real"));
      symlinkSync("real", join(root, "link"));
      put(root, { "a.txt": "before", "state.txt": "before" });
      const storage = new FilePersistenceStorageProvider({ directory: join(root, folder) });
      const work = ["one", "two"].map((text) => () => put(root, { "a.txt": text, "state.txt": text, [text]: text }));
      const shell = new Shell(root, work, { storage });
      await shell.run();
      const { workspace, saved } = shell.build();
      const [first] = await saved.getCheckpoints();
      const preview = await workspace.preview(first?.checkpointId ?? "");
      expect(preview.map(({ path, change }) => `${path}: ${change}`).toSorted()).toEqual([
        "a.txt: write",
        "one: delete",
        "state.txt: write",
        "two: delete",
      ]);
      const blobs = () => Object.keys(treeOf(join(root, folder))).filter((path) => path.includes("blobs/"));
      const before = blobs();
      expect(before).not.toEqual([]);
      expect(steps(await shell.rollBack(0))).toHaveLength(4);
      expect(blobs()).toEqual(expect.arrayContaining(before));
      expect([readFileSync(join(root, "a.txt"), "utf8"), existsSync(join(root, "one"))]).toEqual(["before", false]);
    },
  );

  it("the file tools cannot access the storage directory", async () => {
    const root = temporaryFolder();
    const storage = new FilePersistenceStorageProvider({ directory: join(root, "state") });
    writeFileSync(join(root, "state.txt"), "");
    const coder = new Coder(
      [
        ["write_file", { path: "state/x", content: "x" }],
        ["read_file", { path: "state/tasks/x" }],
        ["delete_file", { path: "state" }],
        ["write_file", { path: "state.txt", content: "x" }],
      ],
      { root, storage },
    );
    const [write, read, remove, beside] = (await coder.run()) as readonly { readonly value: unknown }[];
    for (const refused of [write, read, remove])
      expect(JSON.stringify(refused)).toContain("it leads into the folder of the storage");
    expect(JSON.stringify(beside)).not.toContain("not allowed");
  });

  it("a storage whose directory is the root is refused", () => {
    const root = temporaryFolder();
    const agent = new AIAgent({ id: "a", llmModel: "m", promptExecutor: scriptedModel(["done"]) });
    const storage = new FilePersistenceStorageProvider({ directory: root });
    const install = () => agent.install(Persistence, { storage, participants: [new Workspace({ root })] });
    expect(install).toThrow(InvalidInputError);
    expect(install).toThrow(/its own folder/);
  });
});
