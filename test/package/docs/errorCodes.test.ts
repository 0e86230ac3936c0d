import { readdirSync, readFileSync } from "node:fs";
import * as root from "agent-persistence";
import * as errors from "agent-persistence/errors";
import { describe, expect, it } from "vitest";
import { repository } from "../compile.ts";

/**
 * docs/errors.md lists every error in a table whose first two columns are the code and the class, both in backticks:
 * "| `agent_busy` | `AgentBusyError` | … |".
 */
const rows = /^\|\s*`([a-z_]+)`\s*\|\s*`(\w+)`/gm;

describe("error codes", () => {
  it("docs/errors.md and src/errors hold the same codes with the same classes, each code once", () => {
    const documented = [...readFileSync(`${repository}docs/errors.md`, "utf8").matchAll(rows)];
    expect(documented.map(([, code, name]) => `${code} ${name}`).toSorted()).toEqual(definedErrors().toSorted());
    const codes = documented.map(([, code]) => code);
    expect(codes).toEqual([...new Set(codes)]);
  });

  it("agent-persistence/errors exports the base class and every class in src/errors", () => {
    const defined = definedErrors().map((error) => error.split(" ")[1] ?? "");
    expect(Object.keys(errors).toSorted()).toEqual([...new Set(["AgentPersistenceError", ...defined])].toSorted());
  });

  it("agent-persistence exports fewer than 20 errors, and the page names each", () => {
    const page = readFileSync(`${repository}docs/errors.md`, "utf8").split("## ")[0] ?? "";
    const named = [...page.matchAll(/`(\w+Error)`/g)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "TypeError");
    const exported = Object.keys(root).filter((name) => name.endsWith("Error"));
    expect([...new Set(named)].toSorted()).toEqual(exported.toSorted());
    expect(exported.length).toBeLessThan(20);
  });
});

/** Every class with each of its codes: `readonly code = "a"`, or `readonly code: "a" | "b"`. */
function definedErrors(): string[] {
  const files = readdirSync(`${repository}src/errors`).filter((file) => file.endsWith("Errors.ts"));
  return files.flatMap((file) => {
    const [, ...classes] = readFileSync(`${repository}src/errors/${file}`, "utf8").split(/^export class /m);
    expect({ file, classes }).not.toEqual({ file, classes: [] });
    return classes.flatMap((text) => {
      const [name = ""] = /^\w+/.exec(text) ?? [];
      const declared = /readonly code(?: =|:)((?:[\s|]*"[a-z_]+")+)/.exec(text)?.[1];
      const codes = [...(declared ?? "").matchAll(/[a-z_]+/g)];
      expect({ name, codes }).not.toEqual({ name, codes: [] });
      return codes.map(([code]) => `${code} ${name}`);
    });
  });
}
