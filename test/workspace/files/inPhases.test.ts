import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, it } from "vitest";
import { nodeSha256 } from "../../../src/internal/sha256/nodeSha256.ts";
import { inPhases, type Phases } from "../../../src/workspace/files/inPhases.ts";
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

  it("gives other work of the process a turn after each slow rename of a group", async () => {
    const files = new WorkspaceFiles(temporaryFolder(), 1_000);
    const events: string[] = [];
    let isOver = false;
    const turns = (): void => {
      events.push("turn");
      if (!isOver) setImmediate(turns);
    };
    const slow = (name: string) => {
      events.push(name);
      for (const began = performance.now(); performance.now() - began < 15;);
    };
    setImmediate(turns);
    await callsDuring(["renameSync"], () => inPhases(["a", "b", "c"], putIn(files)), slow);
    isOver = true;
    const withoutRepeats = events.filter((event, at) => event !== events[at - 1] || event !== "turn");
    const renames = withoutRepeats.slice(withoutRepeats.indexOf("renameSync"));
    expect(renames.slice(0, 5)).toEqual(["renameSync", "turn", "renameSync", "turn", "renameSync"]);
  });

  it("syncs each replaced file before the first rename of its group", async () => {
    const root = temporaryFolder();
    const files = new WorkspaceFiles(root, 1_000);
    const paths = Array.from({ length: 70 }, (_, at) => `file-${at}`);
    const calls = await callsDuring(["fsync", "renameSync"], () => inPhases(paths, putIn(files)));
    const group = (count: number) => [...Array(count).fill("fsync"), ...Array(count).fill("renameSync")];
    expect(calls).toEqual([...group(64), ...group(6)]);
    for (const path of paths) expect(readFileSync(join(root, path), "utf8")).toBe(path);
    expect(statSync(join(root, "file-0")).mode & 0o777).toBe(0o600);
  });
});

/** Writes each path as the content of its file. */
function putIn(files: WorkspaceFiles): (path: string, phases: Phases) => Promise<void> {
  return async (path, phases) => {
    const content = Buffer.from(path);
    const state = { kind: "file", hash: nodeSha256.hex(content), bytes: content.length, mode: 0o600 } as const;
    await files.replace(path, { expected: undefined, state, content, phases });
  };
}

async function callsDuring(
  names: readonly string[],
  action: () => Promise<void>,
  onCall: (name: string) => void = () => {},
): Promise<readonly string[]> {
  const calls: string[] = [];
  const functions = fs as unknown as Record<string, (...given: unknown[]) => unknown>;
  const originals = names.map((name) => [name, functions[name]] as const);
  for (const [name, original] of originals)
    functions[name] = (...given) => {
      calls.push(name);
      onCall(name);
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
