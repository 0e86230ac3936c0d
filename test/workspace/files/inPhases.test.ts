import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { inPhases } from "../../../src/workspace/files/inPhases.ts";
import { WorkspaceFiles } from "../../../src/workspace/files/WorkspaceFiles.ts";
import { temporaryFolder } from "../fixture.ts";

describe("inPhases", () => {
  it("starts a phase after all other actions of a group have finished the phase before", async () => {
    const calls: string[] = [];
    await inPhases(["a", "b", "c"], async (item, phases) => {
      calls.push(`write ${item}`);
      if (item === "b") return;
      await phases.next();
      calls.push(`sync ${item}`);
      await phases.next();
      calls.push(`rename ${item}`);
    });
    expect(calls).toEqual(["write a", "write b", "write c", "sync a", "sync c", "rename a", "rename c"]);
  });

  it("rejects with the failure of an action after the other actions have ended", async () => {
    const ended: string[] = [];
    const all = inPhases(["a", "b"], async (item, phases) => {
      if (item === "a") throw new Error("a fails");
      await phases.next();
      ended.push(item);
    });
    await expect(all).rejects.toThrow("a fails");
    expect(ended).toEqual(["b"]);
  });

  it("gives other work of the process a turn between two renames", async () => {
    const events: string[] = [];
    let isOver = false;
    const turns = (): void => {
      events.push("turn");
      if (!isOver) setImmediate(turns);
    };
    setImmediate(turns);
    await inPhases(["a", "b"], async (item, phases) => {
      await phases.next();
      events.push(`rename ${item}`);
    });
    isOver = true;
    const [first, second] = ["rename a", "rename b"].map((event) => events.indexOf(event));
    expect(events.slice(first, second)).toContain("turn");
  });

  it("syncs each replaced file before the first rename of its group", async () => {
    const root = temporaryFolder();
    const files = new WorkspaceFiles(root, 1_000);
    const paths = Array.from({ length: 70 }, (_, at) => `file-${at}`);
    const calls = await callsDuring(["fsync", "renameSync"], () =>
      inPhases(paths, async (path, phases) => {
        const content = Buffer.from(path);
        const state = { kind: "file", hash: nodeSha256.hex(content), bytes: content.length, mode: 0o600 } as const;
        await files.replace(path, { expected: undefined, state, content, phases });
      }),
    );
    const group = (count: number) => [...Array(count).fill("fsync"), ...Array(count).fill("renameSync")];
    expect(calls).toEqual([...group(64), ...group(6)]);
    for (const path of paths) expect(readFileSync(join(root, path), "utf8")).toBe(path);
    expect(statSync(join(root, "file-0")).mode & 0o777).toBe(0o600);
  });
});

async function callsDuring(names: readonly string[], action: () => Promise<void>): Promise<readonly string[]> {
  const calls: string[] = [];
  const functions = fs as unknown as Record<string, (...given: unknown[]) => unknown>;
  const originals = names.map((name) => [name, functions[name]] as const);
  for (const [name, original] of originals)
    functions[name] = (...given) => {
      calls.push(name);
      return original?.(...given);
    };
  syncBuiltinESMExports();
  try {
    await action();
  } finally {
    for (const [name, original] of originals) if (original) functions[name] = original;
    syncBuiltinESMExports();
  }
  return calls;
}
