import { readdirSync, readFileSync, rmSync } from "node:fs";
import { builtinModules } from "node:module";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildPackage, type BuiltPackage } from "./builtPackage.ts";
import { complaintsOf, programOf, repository } from "./compile.ts";
import { publicNames } from "./publicNames.ts";

describe("the built package", () => {
  let built: BuiltPackage;
  beforeAll(() => {
    built = buildPackage();
  });
  afterAll(() => rmSync(built.app, { recursive: true, force: true }));

  it("has a file for each entry of its exports, and no entry without", () => {
    const files = readdirSync(`${built.root}dist`).filter((file) => file.endsWith(".js") && !file.startsWith("chunk-"));
    const entries = [...built.entries.values()];
    expect(files.map((file) => `./dist/${file}`).toSorted()).toEqual(entries.map(({ code }) => code).toSorted());
    expect(entries.map(({ types }) => types)).toEqual(entries.map(({ code }) => code.replace(/\.js$/, ".d.ts")));
    expect(readdirSync(`${built.root}dist`)).toEqual(
      expect.arrayContaining(entries.map(({ types }) => types.slice(7))),
    );
  });

  // A change on purpose: npx vitest run --config test/vitest.config.ts --update test/package/builtPackage.test.ts
  it("exports the names on the list, no more and no less", async () => {
    await expect(await publicNames(built)).toMatchFileSnapshot("./publicNames.txt");
  });

  it("runs its root without Node's own modules", () => {
    const imported = importsOf(`${built.root}dist/index.js`);
    expect([...imported].filter((name) => name.startsWith("node:") || builtinModules.includes(name))).toEqual([]);
  });

  it.each(["usage", "usageTasks", "usageWorkspace"])(
    "can be used as its contract says, and not otherwise: %s",
    (name) => {
      const usage = readFileSync(`${repository}test/package/${name}.ts`, "utf8");
      const program = programOf(new Map([[`${built.app}usage.mts`, usage]]));
      expect(complaintsOf(program)).toEqual([]);
    },
  );

  it("gives every entry the same classes", async () => {
    const named = new Map<string, unknown>();
    for (const { code } of built.entries.values()) {
      const module = (await import(pathToFileURL(built.root + code).href)) as Readonly<Record<string, unknown>>;
      for (const [name, value] of Object.entries(module)) {
        expect(named.get(name) ?? value).toBe(value);
        named.set(name, value);
      }
    }
  });
});

/** The names of all modules that a built file imports, directly or through other files of the package. */
function importsOf(file: string, seen = new Set<string>()): Set<string> {
  for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/^\s*(?:import|export)\b[^"']*["']([^"']+)["']/gm)) {
    const next = name.startsWith(".") ? new URL(name, pathToFileURL(file)).pathname : name;
    if (seen.has(next)) continue;
    seen.add(next);
    if (name.startsWith(".")) importsOf(next, seen);
  }
  return seen;
}
