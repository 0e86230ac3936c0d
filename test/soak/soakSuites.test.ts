import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
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
    "soak/cases.ts": asks,
    "far/whole.test.ts": 'import { wholeSoak } from "../soak/cases.ts";',
    "far/few.test.ts": 'import { cases, every } from "../soak/cases.ts"; cases(1_000, 7_000); every(7, 1);',
    "far/more.test.ts": 'import { cases } from "../soak/cases.ts"; cases(1_000, 7_000); cases(10, 80);',
    "far/steps.test.ts": 'import { every } from "../soak/cases.ts"; every(10, 1);',
    "far/soak.test.ts": 'import { every, soak } from "../soak/cases.ts"; every(7, 1);',
    "far/unknown.test.ts": 'import { cases } from "../soak/cases.ts"; cases(few, all);',
  };
  for (const each of ["far", "soak"]) mkdirSync(join(folder, each));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  const suitesIn = (share?: number) => soakSuites(folder, share).map((file) => relative(folder, file));
  const inPart = ["far/kills.soak", "far/more", "far/soak", "far/steps", "far/through"];
  expect(suitesIn(0.25)).toEqual(["asks", ...inPart].map((name) => `${name}.test.ts`));
  expect(suitesIn()).toEqual(
    ["asks", "far/few", ...inPart, "far/unknown", "far/whole"].map((name) => `${name}.test.ts`),
  );
});
