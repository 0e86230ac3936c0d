import { copyFile, constants, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import type { CommonOptions, Session } from "../session/Session.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { painted } from "../terminal/painted.ts";

interface InitOptions extends Omit<CommonOptions, "storage" | "keys" | "seals"> {
  readonly storage: "file" | "sqlite" | "postgres";
}

/** The packages that a project needs in addition to the packages of every project. */
const drivers = {
  file: {},
  sqlite: { dependencies: { libsql: "^0.5.29" } },
  postgres: { dependencies: { pg: "^8.16.0" }, devDependencies: { "@types/pg": "^8.15.0" } },
} as const satisfies Record<InitOptions["storage"], Partial<Record<"dependencies" | "devDependencies", object>>>;

/** `init [directory]`: writes a small project with an agent, its test and its storage. Overwrites no file. */
export async function init(session: Session, { storage }: InitOptions, given = "."): Promise<void> {
  const { output, io } = session;
  const directory = resolve(io.cwd, given);
  const template = join(packageFolder(), "examples/starter/template");
  const sources = (await readdir(template)).filter((name) => !name.startsWith("storage."));
  const storageFile = storage === "file" ? "storage.ts" : `storage.${storage}.ts`;
  const copies = [...sources.map((name) => [name, name] as const), [storageFile, "storage.ts"] as const];
  const files = [...copies.map(([, name]) => name), "package.json"].toSorted();
  await assertNone(directory, files);
  await mkdir(directory, { recursive: true });
  for (const [from, to] of copies) await copyFile(join(template, from), join(directory, to), constants.COPYFILE_EXCL);
  const manifest = `${JSON.stringify(await projectManifest(directory, storage), undefined, 2)}\n`;
  await writeFile(join(directory, "package.json"), manifest, { flag: "wx" });
  if (output.json) return output.document({ directory, storage, files });
  await output.line(`Wrote ${files.length} files into ${directory}: ${files.join(", ")}.`);
  const path = /^[\w./-]+$/.test(given) ? given : JSON.stringify(given);
  await output.line("Next: ", painted("bold", `cd ${path} && npm install && npm test && npm start`));
}

/** @throws CommandFailure if a file exists */
async function assertNone(directory: string, files: readonly string[]): Promise<void> {
  for (const name of files)
    if (await stat(join(directory, name)).catch(() => undefined))
      throw new CommandFailure("usage", `The file ${join(directory, name)} already exists. Name an empty directory.`);
}

function packageFolder(): string {
  return dirname(createRequire(import.meta.url).resolve("agent-persistence/package.json"));
}

async function projectManifest(directory: string, storage: InitOptions["storage"]): Promise<object> {
  const { version, peerDependencies } = JSON.parse(await readFile(join(packageFolder(), "package.json"), "utf8")) as {
    readonly version: string;
    readonly peerDependencies: Readonly<Record<string, string>>;
  };
  const { dependencies, devDependencies }: Partial<Record<string, object>> = drivers[storage];
  return {
    name: projectName(directory),
    private: true,
    type: "module",
    scripts: { start: "tsx main.ts", test: "node --import tsx --test agent.test.ts", types: "tsc" },
    dependencies: {
      "@ai-sdk/openai-compatible": "^2.0.0",
      "agent-persistence": `^${version}`,
      zod: peerDependencies["zod"],
      ...dependencies,
    },
    devDependencies: { "@types/node": "^20.19.0", tsx: "^4.20.0", typescript: "^5.9.0", ...devDependencies },
  };
}

/** Returns the name of the directory, without characters that the name of a package may not have. */
function projectName(directory: string): string {
  const name = basename(directory)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? "my-agent" : name;
}
