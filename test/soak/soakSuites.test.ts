import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { soakSuites } from "./soakSuites.ts";

it("a soak runs only suites that request it by name, directly or through their imports, and a part of it fewer", () => {
  const folder = mkdtempSync(join(tmpdir(), "agent-persistence-soak-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const asks = 'const soak = process.env["SOAK"] !== undefined;';
  const files = {
    "asks.test.ts": asks,
    "counts.ts": asks,
    "far/plan.ts": 'import { counts } from "../counts.ts";',
    "far/through.test.ts": 'import type { Plan } from "./plan.ts";',
    "far/other.test.ts": 'import { other } from "./other.ts";',
    "far/other.ts": "export const other = 1;",
    "far/kills.soak.test.ts": 'import { other } from "./other.ts";',
    "far/whole.test.ts": 'import { wholeSoak } from "../counts.ts";',
  };
  mkdirSync(join(folder, "far"));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const inPart = ["asks.test.ts", "far/kills.soak.test.ts", "far/through.test.ts"].map((file) => join(folder, file));
  expect(soakSuites(folder, false)).toEqual(inPart);
  expect(soakSuites(folder)).toEqual([...inPart, join(folder, "far/whole.test.ts")]);
});
