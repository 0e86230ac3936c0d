import { describe, expect, it } from "vitest";
import type { FileChange, FileState } from "agent-persistence";
import type { Note } from "../../../src/journal/RollbackParticipant.ts";
import { fileHistories } from "../../../src/workspace/restore/FileHistory.ts";
import { planRestore } from "../../../src/workspace/restore/settleConflict.ts";
import type { FoundFile } from "../../../src/workspace/files/readFile.ts";

const state = (name: string, mode = 0o644) => ({ kind: "file", hash: name.repeat(64), bytes: 1, mode }) as const;
const [a, b, c] = [state("a"), state("b"), state("c")];
const link: FileState = { kind: "link", target: "a" };
const folder = { kind: "other", reason: "is a folder", folder: true } as const;
const missing: FoundFile = { kind: "missing" };

const file = (found: FileState): FoundFile =>
  found.kind === "file" ? { kind: "file", state: found, content: new Uint8Array() } : { kind: "link", state: found };
const change = (before: FileState | undefined, after: FileState | undefined): FileChange => ({
  path: "f",
  ...(before && { before }),
  ...(after && { after }),
});

/** What a file tool notes, each change in a call of its own that succeeds. */
const told = (...changes: readonly FileChange[]): readonly Note[] =>
  changes.map((one, at) => ({ value: { changes: [one] }, toolCallId: `call-${at}` }));
const tried = (one: FileChange, toolCallId = "tried"): Note => ({
  value: { changes: [one] },
  toolCallId,
  uncertain: true,
});
const began = (id: string): Note => ({ value: { changes: [], began: id } });
const found = (id: string, ...changes: readonly FileChange[]): Note => ({ value: { changes, ended: id } });

const modified = "file_modified_externally";

describe("planRestore", () => {
  const table: readonly (readonly [name: string, notes: readonly Note[], found: FoundFile, plan: string])[] = [
    ["unchanged since the agent", told(change(a, b)), file(b), "restore to a"],
    ["already restored", told(change(a, b)), file(a), "nothing"],
    ["already restored, by the agent over others", told(change(a, b), change(c, a)), file(a), modified],
    ["already restored, by others", told(change(a, b), change(c, b)), file(a), "nothing"],
    ["somebody else's", told(change(a, b)), file(c), modified],
    ["with another mode", told(change(a, b)), file(state("b", 0o755)), modified],
    ["deleted by somebody", told(change(a, b)), missing, "file_deleted"],
    ["returned to an earlier state of the agent", told(change(a, b), change(b, c)), file(b), modified],
    ["before a change that a crash interrupted", [...told(change(a, b)), tried(change(b, c))], file(b), "restore to a"],
    ["after a change that a crash interrupted", [...told(change(a, b)), tried(change(b, c))], file(c), "restore to a"],
    ["after a change that failed and another", [tried(change(a, b)), ...told(change(a, c))], file(c), "restore to a"],
    [
      "after a call that was repeated",
      [tried(change(a, b), "call-0"), ...told(change(a, c))].map(({ value, toolCallId = "" }) => ({
        value,
        toolCallId,
      })),
      file(c),
      "restore to a",
    ],
    ["changed by somebody between two changes", told(change(a, b), change(c, b)), file(b), modified],
    ["chmodded by somebody between two changes", told(change(a, b), change(state("b", 0o600), c)), file(c), modified],
    ["deleted by somebody between two changes", told(change(a, b), change(undefined, c)), file(c), modified],
    ["replaced by a link between two changes", told(change(a, b), change(link, c)), file(c), modified],
    ["changed by somebody, then deleted by the agent", told(change(a, b), change(c, undefined)), missing, modified],
    [
      "deleted, recreated, deleted by somebody",
      told(change(a, undefined), change(undefined, b)),
      missing,
      "file_deleted",
    ],
    ["changed by a command", [began("1"), found("1", change(a, b))], file(b), "restore to a"],
    [
      "changed by a tool while a command ran",
      [began("1"), ...told(change(a, b)), found("1", change(a, c))],
      file(c),
      "restore to a",
    ],
    [
      "changed by somebody before a command",
      [...told(change(a, b)), began("1"), found("1", change(c, a))],
      file(c),
      modified,
    ],
    ["created", told(change(undefined, b)), file(b), "restore to nothing"],
    ["created and deleted by somebody", told(change(undefined, b)), missing, "nothing"],
    ["created and changed by somebody", told(change(undefined, b)), file(c), modified],
    ["deleted", told(change(a, undefined)), missing, "restore to a"],
    ["deleted and recreated by somebody", told(change(a, undefined)), file(c), modified],
    ["deleted and recreated with the same content", told(change(a, undefined)), file(a), "nothing"],
    ["changed and changed back", told(change(a, b), change(b, a)), file(a), "nothing"],
    ["a link now", told(change(a, b)), file(link), modified],
    ["a link that became a file", told(change(link, a)), file(a), "restore to link"],
    ["a directory now", told(change(a, b)), folder, "file_unreachable"],
    ["a directory at a previously empty path", told(change(undefined, b)), folder, "nothing"],
    [
      "a pipe at a previously empty path",
      told(change(undefined, b)),
      { kind: "other", reason: "is a pipe" },
      "file_unreachable",
    ],
    ["in a directory that is a link", told(change(a, b)), { ...missing, unreachable: "is far" }, "file_unreachable"],
    ["created, in a missing directory", told(change(undefined, b)), { ...missing, unreachable: "is far" }, "nothing"],
    ["in an unwritable directory", told(change(a, b)), { ...file(b), unreachable: "is closed" }, "file_unreachable"],
  ];

  it.each(table)("planRestore: %s", (_name, notes, there, plan) => {
    const [history] = fileHistories(notes);
    const planned = planRestore(history!, there);
    if (!planned) return expect("nothing").toBe(plan);
    if (planned.kind === "conflict") return expect(planned.conflict).toMatchObject({ kind: plan, path: "f" });
    const { target } = planned.history;
    expect(`restore to ${target === undefined ? "nothing" : target.kind === "link" ? "link" : target.hash[0]}`).toBe(
      plan,
    );
  });
});

it("the plan of a file that only the agent changed does not keep its content", () => {
  const [history] = fileHistories(told(change(a, b)));
  if (history === undefined) throw new Error("no history");
  const now: FoundFile = { kind: "file", state: b, content: new Uint8Array(1) };
  expect(planRestore(history, now)).toMatchObject({ kind: "restore", found: { content: new Uint8Array() } });
  const others: FoundFile = { kind: "file", state: c, content: new Uint8Array(1) };
  expect(planRestore(history, others)).toMatchObject({ kind: "conflict", found: { content: new Uint8Array(1) } });
});
