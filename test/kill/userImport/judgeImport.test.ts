import { describe, expect, it } from "vitest";
import type { AgentCheckpointData } from "agent-persistence";
import type { DatabaseState } from "./Audit.ts";
import { judgeAtRest, judgeImport } from "./judgeImport.ts";
import type { JournalState } from "./readJournal.ts";

const user = (id: number, call: string) => ({ id, name: "Alex", email: "a", city: "", tool_call_id: call });
const added = (call: string) => ({ kind: "added", tool_call_id: call }) as const;
const removed = (call: string) => ({ kind: "removed", tool_call_id: call }) as const;
const database: DatabaseState = { users: [user(1, "x")], audit: [added("x"), added("y"), removed("y")] };
const told = (id: number) => ({ role: "tool", content: [{ toolName: "signUp", output: { id } }] });
const head = (...ids: readonly number[]) => ({ messageHistory: ids.map(told) }) as unknown as AgentCheckpointData;
const journal: JournalState = { standing: new Set("x"), unknown: new Set(), line: [head(1)], completed: true };

describe("judgeImport", () => {
  it("finds no problem if table, journal and messages agree", () => {
    expect(judgeAtRest(database, journal)).toEqual([]);
  });

  it.each([
    [{ ...journal, standing: new Set<string>() }, "a row of call x, which does not stand"],
    [{ ...journal, standing: new Set(["x", "z"]) }, "no row of call z, which stands"],
  ])("finds a table that the journal does not describe", (other, found) => {
    expect(judgeImport(database, other)).toEqual([found]);
  });

  it("accepts either outcome of an unfinished call until the process ends by itself", () => {
    const other = { ...journal, standing: new Set<string>(), unknown: new Set("xz") };
    expect(judgeImport(database, other)).toEqual([]);
    expect(judgeAtRest(database, other)).toEqual(["x", "z"].map((call) => `nobody knows how call ${call} ended`));
  });

  it.each([added("x"), removed("y")])("finds repeated effects: $kind", (entry) => {
    const twice = `twice ${entry.kind} by call ${entry.tool_call_id}`;
    expect(judgeImport({ ...database, audit: [...database.audit, entry] }, journal)).toEqual([twice]);
  });

  it("counts results that the model has not seen yet", () => {
    const line = [{ ...head(), lastInput: told(1) }];
    expect(judgeAtRest(database, { ...journal, line })).toEqual([]);
  });

  it("finds messages about another person", () => {
    expect(judgeAtRest(database, { ...journal, line: [head(1, 2)] })).toEqual([
      "the messages tell of the users 1,2, the table has 1",
    ]);
  });
});
