import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { repository } from "./compile.ts";

/** The package as it would be published, installed in an empty folder. */
export interface BuiltPackage {
  /** The folder of a user who installed it; ends with a slash. */
  readonly app: string;
  /** The package in that folder; ends with a slash. */
  readonly root: string;
  /** Its `exports`: for each entry the file of its types and that of its code, relative to `root`. */
  readonly entries: ReadonlyMap<string, { readonly types: string; readonly code: string }>;
  /** The file of its command line, relative to `root`. */
  readonly bin: string;
}

/** Installs the package that `npm run build` has built. */
export function installBuild(): BuiltPackage {
  if (!existsSync(`${repository}dist/index.d.ts`)) throw new Error("The package is not built. Run `npm run build`.");
  return install((dist) => cpSync(`${repository}dist`, dist, { recursive: true }));
}

/** Builds the code of the package, without declarations, away from `dist`, which another process may be using. */
export function buildCode(): BuiltPackage {
  const tsup = `${repository}node_modules/tsup/dist/cli-default.js`;
  return install((dist) => {
    const options = ["--out-dir", dist, "--no-dts", "--silent"];
    execFileSync(process.execPath, [tsup, ...options], { cwd: repository, stdio: ["ignore", "ignore", "inherit"] });
  });
}

/** @param fill fills the package's directory `dist`. */
function install(fill: (dist: string) => void): BuiltPackage {
  const app = `${realpathSync(mkdtempSync(join(tmpdir(), "agent-persistence-")))}/`;
  const root = `${app}node_modules/agent-persistence/`;
  mkdirSync(root, { recursive: true });
  fill(`${root}dist`);
  cpSync(`${repository}package.json`, `${root}package.json`);
  for (const name of [...requiredPackages(), ...clientPackages]) {
    mkdirSync(dirname(`${app}node_modules/${name}`), { recursive: true });
    symlinkSync(`${repository}node_modules/${name}`, `${app}node_modules/${name}`);
  }
  // A directory in which version 7 of the AI SDK is installed.
  mkdirSync(`${app}ai7/node_modules`, { recursive: true });
  symlinkSync(`${repository}node_modules/ai7`, `${app}ai7/node_modules/ai`);
  return { app, root, entries: entriesOf(root), bin: manifestOf(root).bin["agent-persistence"] };
}

/** Clients of databases, which a user would install: only their types are used. */
const clientPackages = [
  "@aws-sdk/client-dynamodb",
  "@aws-sdk/client-s3",
  "@electric-sql/pglite",
  "@neondatabase/serverless",
  "@types/better-sqlite3",
  "@types/pg",
  "libsql",
  "pg",
  "postgres",
];

function requiredPackages(): string[] {
  const manifest = JSON.parse(readFileSync(`${repository}package.json`, "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly peerDependencies: Readonly<Record<string, string>>;
  };
  return Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
}

interface Manifest {
  readonly bin: { readonly "agent-persistence": string };
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
}

function manifestOf(root: string): Manifest {
  return JSON.parse(readFileSync(`${root}package.json`, "utf8")) as Manifest;
}

function entriesOf(root: string): BuiltPackage["entries"] {
  const pairs = Object.entries(manifestOf(root).exports).flatMap(([entry, target]) =>
    typeof target === "string" ? [] : [[entry.slice(2), { types: target.types, code: target.default }] as const],
  );
  return new Map(pairs);
}
