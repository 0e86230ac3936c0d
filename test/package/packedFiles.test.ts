import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path/posix";
import { expect, it } from "vitest";
import { repository } from "./compile.ts";

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
}

/** What a user reads, runs or gets from `init`. All other files belong to an entry or to the command line. */
const besideTheCode = [
  /^(LICENSE|README\.md|package\.json|docs\/CHANGELOG\.md|examples\/quick\/demo\.mjs)$/,
  /^examples\/starter\/template\/[\w.]+$/,
  /^dist\/timeline-page\/page\.(css|js)$/,
];

const read = (path: string) => readFileSync(`${repository}${path}`, "utf8");

function packedFiles(): string[] {
  const args = ["pack", "--dry-run", "--json", "--ignore-scripts"];
  const report = execFileSync("npm", args, { cwd: repository, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [packed] = JSON.parse(report) as [{ readonly files: readonly { readonly path: string }[] }];
  return packed.files.map(({ path }) => path);
}

/** Returns the files that the entries and the command line load, and the declarations of the entries. */
function neededFiles(): Set<string> {
  const { bin, exports } = JSON.parse(read("package.json")) as Manifest;
  const targets = Object.values(exports).flatMap((target) =>
    typeof target === "string" ? [] : [target.types, target.default],
  );
  const needed = new Set<string>();
  for (const target of [...targets, ...Object.values(bin)]) addWithImports(join(target), needed);
  return needed;
}

function addWithImports(path: string, needed: Set<string>): void {
  if (needed.has(path)) return;
  needed.add(path);
  for (const [, name = ""] of read(path).matchAll(/(?:from|import)\s*\(?\s*["'](\.[^"']+\.js)["']/g)) {
    const target = join(path, "..", name);
    addWithImports(path.endsWith(".d.ts") ? target.replace(/\.js$/, ".d.ts") : target, needed);
  }
}

it("the package contains only files that its users need", () => {
  const needed = neededFiles();
  const packed = packedFiles();
  const unneeded = packed.filter((path) => !needed.has(path) && !besideTheCode.some((rule) => rule.test(path)));
  expect(unneeded).toEqual([]);
  expect(packed).toEqual(expect.arrayContaining([...needed]));
  for (const rule of besideTheCode) expect(packed.some((path) => rule.test(path))).toBe(true);
});
