import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { temporaryFolder } from "../fixture.ts";
import { linedText, withLine } from "./linedText.ts";
import { Person } from "./Person.ts";
import { TraceFile } from "./trace/TraceFile.ts";

/** What the person makes of the file `a`, who would edit line 6. */
function edited(content: string): string {
  const folder = temporaryFolder();
  for (const name of ["root", "spare"]) mkdirSync(join(folder, name));
  const file = join(folder, "root/a");
  writeFileSync(file, content);
  const choices = [0.15, 0.5, 0];
  const trace = new TraceFile(join(folder, "trace"));
  new Person(join(folder, "root"), join(folder, "spare"), trace, () => choices.shift() ?? 0).edit();
  return readFileSync(file, "utf8");
}

it("a person edits one line of a complete text", () => {
  expect(edited(linedText("start"))).toBe(withLine(linedText("start"), 6, "person-1"));
});

it.each(["", linedText("agent-1").slice(0, 40)])(
  "a person rewrites a file that a command wrote only partly: %j",
  (half) => {
    expect(edited(half)).toBe(linedText("person-1"));
  },
);
