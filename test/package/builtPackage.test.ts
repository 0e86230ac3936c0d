import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { builtinModules } from "node:module";
import { pathToFileURL } from "node:url";
import type ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiReport } from "./apiReport.ts";
import { installBuild, type BuiltPackage } from "./builtPackage.ts";
import { complaintsOf, programOf, repository } from "./compile.ts";

const contract = [
  "usage",
  "usageAiSdk",
  "usageLangGraph",
  "usageOpenAIAgents",
  "usagePeople",
  "usagePeopleLines",
  "usageStorages",
  "usageTasks",
  "usageWorkspace",
];
const engines = ["dynamodb", "postgres", "s3", "sqlite"];

/** Files that use the package, by the names that they get beside it. */
const usages = new Map([
  ...contract.map((name) => [name, `test/package/usage/${name}.ts`] as const),
  // The same with the AI SDK 7, whose agents have another third type parameter.
  ["ai7/usageAiSdk", "test/package/usage/usageAiSdk.ts"] as const,
  ...engines.map((engine) => [`${engine}Clients`, `test/storage/${engine}/clients.types.ts`] as const),
]);

/** Programs, with the most instantiations that the compiler may make for them. */
const typeBudgets = [
  {
    name: "a tool",
    text: `import { tool } from "agent-persistence";
      import { z } from "zod";
      export const pay = tool({
        name: "pay", description: "Pays", inputSchema: z.object({ to: z.string() }), execute: ({ to }) => to.length,
      });`,
    most: 2_500,
  },
  {
    name: "an agent with a strategy, a tool, a stored value and a request for input",
    text: `import { AIAgent, Persistence, strategy, storageKey, tool } from "agent-persistence";
      import { z } from "zod";
      const pay = tool({ name: "pay", description: "Pays", inputSchema: z.object({ a: z.string() }), execute: ({ a }) => a.length });
      const cart = storageKey("cart", z.array(z.string()));
      const flow = strategy<string, number>("flow", { input: z.string(), output: z.number() }, (graph) => {
        const node = graph.node("ask", { input: z.string() }, async (input, context) => {
          const { ok } = await context.requestInput({ id: "ok", prompt: "?", schema: z.object({ ok: z.boolean() }) });
          context.storage.set(cart, [input]);
          return ok ? context.tools.call(pay, { a: input }) : 0;
        });
        graph.edge(graph.start, node);
        graph.edge(node, graph.finish);
      });
      export const agent = new AIAgent({ promptExecutor: { execute: () => Promise.reject(new Error("unused")) }, llmModel: "m", tools: [pay], strategy: flow });
      agent.install(Persistence);`,
    most: 7_000,
  },
];

describe("the built package", () => {
  let built: BuiltPackage;
  /** Its declarations and the files that use it, in one program: loading them takes longest. */
  let program: ts.Program;
  beforeAll(() => {
    built = installBuild();
    program = programOf(new Map([...declarationsOf(built), ...[...usages.keys()].map((name) => usageOf(built, name))]));
  });
  afterAll(() => rmSync(built.app, { recursive: true, force: true }));

  it("the built package has exactly one file for each entry of its exports", () => {
    const files = readdirSync(`${built.root}dist`).filter((file) => file.endsWith(".js") && !file.startsWith("chunk-"));
    const entries = [...built.entries.values()];
    const loadedWhenCalled = /-[A-Z0-9]{8}\.js$/;
    const named = files.filter((file) => !loadedWhenCalled.test(file)).map((file) => `./dist/${file}`);
    expect(named.toSorted()).toEqual(entries.map(({ code }) => code).toSorted());
    expect(existsSync(`${built.root}${built.bin}`)).toBe(true);
    expect(entries.map(({ types }) => types)).toEqual(entries.map(({ code }) => code.replace(/\.js$/, ".d.ts")));
    expect(readdirSync(`${built.root}dist`)).toEqual(
      expect.arrayContaining(entries.map(({ types }) => types.slice(7))),
    );
  });

  it("the built package has exactly the API in test/package/api, which npm run api:accept writes", async () => {
    const values = new Map<string, readonly string[]>();
    for (const [entry, { code }] of built.entries)
      values.set(entry, Object.keys((await import(pathToFileURL(built.root + code).href)) as object));
    const report = new ApiReport(built, program, values);
    const files = [...built.entries.keys()].map((entry) => [entry, `${entry === "" ? "root" : entry}.txt`] as const);
    for (const [entry, file] of files) await expect(report.of(entry)).toMatchFileSnapshot(`./api/${file}`);
    const expected = new Set<string>(files.map(([, file]) => file));
    expect(readdirSync(`${repository}test/package/api`).filter((file) => !expected.has(file))).toEqual([]);
  });

  it("the built package has a stability for each entry in docs/versions.md", () => {
    const [, policy = ""] = readFileSync(`${repository}docs/versions.md`, "utf8").split("### Stable and experimental");
    const rows = [...policy.matchAll(/^\| (stable|experimental) \| (.+) \|/gm)];
    const named = rows.flatMap(([, , entries = ""]) =>
      [...entries.matchAll(/`([^`]+)`/g)].map(([, entry = ""]) => entry),
    );
    const entries = [...built.entries.keys()].map((entry) => `agent-persistence${entry === "" ? "" : `/${entry}`}`);
    expect(named.toSorted()).toEqual(entries.toSorted());
  });

  it("the built package runs its root without Node built-ins", () => {
    const imported = importsOf(`${built.root}dist/index.js`);
    expect([...imported].filter((name) => name.startsWith("node:") || builtinModules.includes(name))).toEqual([]);
  });

  it("the built package starts its command line without zod", () => {
    expect(importsOf(`${built.root}dist/cli/main.js`)).not.toContain("zod");
  });

  it.each([...usages.keys()])("the built package can only be used according to its contract: %s", (name) => {
    expect(complaintsOf(program, [usageOf(built, name)[0]])).toEqual([]);
  });

  it.each(typeBudgets)("the built package needs few type instantiations for $name", ({ text, most }) => {
    const user = programOf(new Map([[`${built.app}budget.mts`, text]]));
    expect(complaintsOf(user)).toEqual([]);
    expect(user.getInstantiationCount()).toBeLessThan(most);
  });

  it("the built package has declarations that compile with an older lib", () => {
    const all = [...built.entries.keys()].map((entry) => `import "agent-persistence${entry}";`);
    const older: ts.CompilerOptions = { lib: ["lib.es2020.d.ts"], skipLibCheck: false };
    const user = programOf(new Map([[`${built.app}older.mts`, all.join("\n")]]), older);
    const own = user.getSourceFiles().flatMap(({ fileName }) => (fileName.startsWith(built.root) ? [fileName] : []));
    expect(own.length).toBeGreaterThan(built.entries.size);
    expect(complaintsOf(user, own)).toEqual([]);
  });

  it("the built package gives every entry the same classes", async () => {
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

function declarationsOf({ root, entries }: BuiltPackage): [path: string, text: string][] {
  const paths = [...entries.values()].map(({ types }) => `${root}${types.slice(2)}`);
  return paths.map((path) => [path, readFileSync(path, "utf8")]);
}

/** A file that uses the package, in the folder of a user who installed it. */
function usageOf({ app }: BuiltPackage, name: string): [path: string, text: string] {
  const text = readFileSync(`${repository}${usages.get(name)}`, "utf8");
  const shown = name.startsWith("ai7/")
    ? text.replace("Agent<never, typeof tools, never>", "Agent<never, typeof tools>")
    : text;
  return [`${app}${name}.mts`, shown];
}

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
