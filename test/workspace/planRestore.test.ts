import { describe, expect, it } from "vitest";
import type { FileChange, FileState } from "agent-persistence";
import { fileHistories, planRestore } from "../../src/workspace/restore/planRestore.ts";
import type { FoundFile } from "../../src/workspace/files/readFile.ts";

const state = (name: string, mode = 0o644): FileState => ({ kind: "file", hash: name.repeat(64), bytes: 1, mode });
const [a, b, c] = [state("a"), state("b"), state("c")];
const link: FileState = { kind: "link", target: "a" };

const file = (found: FileState): FoundFile =>
  found.kind === "file" ? { kind: "file", state: found, content: new Uint8Array() } : { kind: "link", state: found };
const change = (before: FileState | undefined, after: FileState | undefined): FileChange => ({
  path: "f",
  ...(before && { before }),
  ...(after && { after }),
});
const missing: FoundFile = { kind: "missing" };

describe("planRestore", () => {
  const table: readonly (readonly [name: string, changes: readonly FileChange[], found: FoundFile, plan: string])[] = [
    ["as the agent left it", [change(a, b)], file(b), "restore to a"],
    ["as it was already", [change(a, b)], file(a), "nothing"],
    ["somebody else's", [change(a, b)], file(c), "file_modified_externally"],
    ["with another mode", [change(a, b)], file(state("b", 0o755)), "file_modified_externally"],
    ["deleted by somebody", [change(a, b)], missing, "file_deleted"],
    ["between two changes, after a crash", [change(a, b), change(b, c)], file(b), "restore to a"],
    ["created", [change(undefined, b)], file(b), "restore to nothing"],
    ["created and deleted by somebody", [change(undefined, b)], missing, "nothing"],
    ["created and changed by somebody", [change(undefined, b)], file(c), "file_modified_externally"],
    ["deleted", [change(a, undefined)], missing, "restore to a"],
    ["deleted and made again by somebody", [change(a, undefined)], file(c), "file_modified_externally"],
    ["deleted and made again as it was", [change(a, undefined)], file(a), "nothing"],
    ["changed and changed back", [change(a, b), change(b, a)], file(a), "nothing"],
    ["a link now", [change(a, b)], file(link), "file_modified_externally"],
    ["a link that became a file", [change(link, a)], file(a), "restore to link"],
    ["a folder now", [change(a, b)], { kind: "other", reason: "is a folder" }, "file_modified_externally"],
    [
      "a folder now, where nothing was",
      [change(undefined, b)],
      { kind: "other", reason: "is a folder" },
      "file_modified_externally",
    ],
    ["changed by somebody before the agent did", [change(a, b), change(c, a)], file(a), "nothing"],
  ];

  it.each(table)("planRestore: %s", (_name, changes, found, plan) => {
    const [planned] = planRestore(fileHistories(changes), new Map([["f", found]]));
    if (!planned) return expect("nothing").toBe(plan);
    if (planned.kind === "conflict") return expect(planned.conflict).toEqual({ kind: plan, path: "f" });
    const { target } = planned.history;
    expect(`restore to ${target === undefined ? "nothing" : target.kind === "link" ? "link" : target.hash[0]}`).toBe(
      plan,
    );
  });
});
