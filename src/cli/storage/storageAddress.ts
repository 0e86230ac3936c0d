import { isAbsolute, resolve, dirname, join } from "node:path";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { stat } from "node:fs/promises";
import type { CommandIo } from "../terminal/CommandIo.ts";

const variable = "AGENT_PERSISTENCE_STORAGE";
const folderName = ".agent-persistence";

export type StorageAddress =
  | { readonly kind: "file"; readonly folder: string }
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly connection: string; readonly schema?: string }
  | { readonly kind: "dynamodb"; readonly table: string; readonly region?: string; readonly endpoint?: string };

/** Returns the name of a storage in messages, without passwords. */
export function storageName(address: StorageAddress): string {
  if (address.kind === "file") return `file:${address.folder}`;
  if (address.kind === "sqlite") return `sqlite:${address.file}`;
  if (address.kind === "dynamodb") return `dynamodb:${address.table}`;
  const { host, pathname } = new URL(address.connection);
  return `postgres://${host}${pathname}`;
}

const forms =
  "expected file:<folder>, sqlite:<file>, postgres://<user>@<host>/<database>?schema=<schema> or " +
  "dynamodb:<table>?region=<region>";

/** Parses an address. Relative paths are resolved against `cwd`. @throws CommandFailure */
export function storageAddress(text: string, cwd: string): StorageAddress {
  const [, scheme = "", rest = ""] = /^([a-z]+):(.*)$/s.exec(text) ?? [];
  if (rest === "") throw invalid(text, forms);
  if (scheme === "file") return { kind: "file", folder: resolve(cwd, pathOf(text, rest)) };
  if (scheme === "sqlite") return { kind: "sqlite", file: resolve(cwd, pathOf(text, rest)) };
  if (scheme === "postgres" || scheme === "postgresql") return postgresAddress(text);
  if (scheme === "dynamodb") return dynamodbAddress(text, rest);
  throw invalid(text, forms);
}

/** Parses a path. `//` starts an absolute path, as in a URL. @throws CommandFailure */
function pathOf(text: string, rest: string): string {
  if (!rest.startsWith("//")) return rest;
  try {
    const path = decodeURIComponent(rest.slice(2));
    if (isAbsolute(path)) return path;
  } catch {
    // The error below names the text.
  }
  throw invalid(text, "expected an absolute path behind //, with % only as in URLs. Write a relative path without //");
}

function postgresAddress(text: string): StorageAddress {
  if (!/^\w+:\/\//.test(text) || !URL.canParse(text))
    throw invalid("postgres:…", "expected a connection string such as postgres://user@host/db");
  const url = new URL(text);
  const schema = url.searchParams.get("schema");
  // The driver would send the schema to the server as a setting.
  url.searchParams.delete("schema");
  return { kind: "postgres", connection: url.href, ...(schema !== null && { schema }) };
}

function dynamodbAddress(text: string, rest: string): StorageAddress {
  const [table = "", query = ""] = rest.split("?", 2);
  const options = new URLSearchParams(query);
  const unknown = [...options.keys()].find((name) => name !== "region" && name !== "endpoint");
  if (table === "" || unknown !== undefined)
    throw invalid(text, "expected dynamodb:<table>?region=<region>&endpoint=<url>");
  return { kind: "dynamodb", table, ...Object.fromEntries(options) };
}

function invalid(text: string, expected: string): CommandFailure {
  return new CommandFailure("usage", `"${withoutPassword(text)}" is not the address of a storage: ${expected}`);
}

function withoutPassword(text: string): string {
  return text.replace(/^(.*?:(?:\/\/)?)?.*@/s, "$1…@").replaceAll(/(password=)[^&]*/gi, "$1…");
}

/**
 * Returns the given address, the address of the environment, or the nearest `.agent-persistence`.
 *
 * @throws CommandFailure
 */
export async function findAddress(given: string | undefined, { env, cwd }: CommandIo): Promise<StorageAddress> {
  const text = given ?? (env[variable] || undefined);
  if (text !== undefined) return storageAddress(text, cwd);
  const folder = await nearest(cwd);
  if (folder !== undefined) return { kind: "file", folder };
  throw new CommandFailure(
    "usage",
    `There is no folder ${folderName} here or above. Say where the agents are, with --storage file:<folder> or the ` +
      `environment variable ${variable}.`,
  );
}

async function nearest(from: string): Promise<string | undefined> {
  const folder = join(from, folderName);
  if (await isDirectoryAt(folder)) return folder;
  return dirname(from) === from ? undefined : nearest(dirname(from));
}

export async function isDirectoryAt(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true;
}
