import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentRecord } from "../../src/checkpoint/records/AgentRecord.ts";
import { fixtures, goOn, readBack, type Fixture } from "./reading.ts";

const logs = fileURLToPath(new URL("logs/", import.meta.url));
const names = Object.keys(fixtures) as Fixture[];

/** A copy of a stored folder, which goes with the test: nothing may touch the originals. */
function copyOf(name: Fixture): string {
  const directory = mkdtempSync(join(tmpdir(), "agent-interchange-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(join(logs, name), directory, { recursive: true });
  return directory;
}

/** What version 0.1.0 itself read of the logs, and what became of them when it went on. */
function expectedOf(name: Fixture): { readonly read: unknown; readonly wentOn: unknown } {
  const text = gunzipSync(readFileSync(join(logs, name, "expected.json.gz"))).toString();
  return JSON.parse(text) as ReturnType<typeof expectedOf>;
}

describe.each(names)("the logs of 0.1.0 in %s", (name) => {
  it("are read as 0.1.0 read them: every checkpoint, message, call in doubt, request, summary and task", async () => {
    expect(await readBack(name, copyOf(name))).toEqual(expectedOf(name).read);
  });

  it("are resumed to the end that 0.1.0 came to, and no recorded call is made twice", async () => {
    expect(await goOn(name, copyOf(name))).toEqual(expectedOf(name).wentOn);
  });
});

/** Every kind that 0.1.0 knew. A kind that comes later is in no log of it: leave it out by `Exclude`. */
const kinds: Readonly<Record<AgentRecord["kind"], true>> = {
  task: true,
  run: true,
  lane: true,
  message: true,
  edit: true,
  storage: true,
  settings: true,
  requirements: true,
  decision: true,
  structure: true,
  answer: true,
  intent: true,
  outcome: true,
  note: true,
  checkpoint: true,
  request: true,
  reply: true,
  status: true,
  rollback: true,
  rollback_step: true,
  inverse: true,
  reverted: true,
  rollback_end: true,
  pruned: true,
  snapshot: true,
};

/** What stands in the lines of all segments: kinds of records, control lines, and lines that a crash has torn. */
function contentsOfSegments(): ReadonlySet<string> {
  const segments = readdirSync(logs, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".jsonl"));
  const found = new Set<string>();
  for (const path of segments)
    for (const line of readFileSync(join(logs, path), "utf8").split("\n").filter(Boolean))
      for (const each of contentsOf(line)) found.add(each);
  return found;
}

function contentsOf(line: string): readonly string[] {
  try {
    const parsed = JSON.parse(line) as unknown[] | Readonly<Record<string, unknown>>;
    const append = Array.isArray(parsed) ? parsed : parsed["snapshot"];
    if (!Array.isArray(append)) return Object.keys(parsed);
    return (append[4] as readonly AgentRecord[]).map(({ kind }) => kind);
  } catch {
    return ["a torn line"];
  }
}

it("the logs of 0.1.0 hold every kind of record and of control line, and a line that a crash has torn", () => {
  const found = contentsOfSegments();
  const control = ["claim", "open", "closed", "dropped"];
  for (const each of [...Object.keys(kinds), ...control, "a torn line"]) expect(found).toContain(each);
});
