import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import type { CommandIo } from "../terminal/CommandIo.ts";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { EncryptionOptions, KeySource } from "../../encryption.ts";
import { keySourceSchema } from "../../storage/KeySource.ts";

interface LoadedExport {
  readonly path: string;
  readonly exported: string;
  /** The export. If the export is a function, the value that the function returns. */
  readonly value: unknown;
}

/**
 * Loads `<module#export>`, by default the default export. Output of the module goes to standard error.
 *
 * @throws CommandFailure
 */
export async function loadExport(given: string, io: CommandIo): Promise<LoadedExport> {
  const at = given.lastIndexOf("#");
  const [name, exported] = at < 0 ? [given, "default"] : [given.slice(0, at), given.slice(at + 1)];
  const path = resolve(io.cwd, name);
  io.divertOutput();
  const module = await load(path);
  const found = module[exported];
  if (found === undefined) throw new CommandFailure("usage", missingExport(path, exported, Object.keys(module)));
  try {
    return { path, exported, value: typeof found === "function" ? await (found as () => unknown)() : found };
  } catch (error) {
    throw notLoaded(`${path}#${exported}`, error);
  }
}

function missingExport(path: string, exported: string, found: readonly string[]): string {
  const exports = found.length === 0 ? "It has no exports" : `It has ${found.join(", ")}`;
  return `${path} has no export "${exported}". ${exports}.`;
}

async function load(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(pathToFileURL(path).href)) as Readonly<Record<string, unknown>>;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[mc]?tsx?$/.test(path))
      throw new CommandFailure("usage", noLoader(path));
    if (!(await stat(path).catch(() => undefined))) throw new CommandFailure("notFound", `There is no module ${path}.`);
    throw notLoaded(path, error);
  }
}

/**
 * Names the user's module in an error that code of the module threw. Errors of this library contain advice, so they
 * stay unchanged.
 */
function notLoaded(place: string, error: unknown): unknown {
  if (AgentPersistenceError.isInstance(error)) return error;
  const { message = String(error) } = Object(error) as Partial<Error>;
  return new CommandFailure("failed", `Could not load ${place}: ${message}`, { cause: error });
}

function noLoader(path: string): string {
  return (
    `Node ${process.versions.node} cannot load the TypeScript of ${path}. Use Node 22.18 or newer; or install a loader and ` +
    `name it: NODE_OPTIONS="--import tsx" agent-persistence …; or give the compiled module.`
  );
}

export interface ArchiveKeyOptions {
  readonly archiveKeys?: string | undefined;
  readonly plain?: boolean | undefined;
}

/** Returns the keys of `--archive-keys`, by default those of the storage. The export can be `encrypted()` options. */
export async function archiveKeys(
  io: CommandIo,
  { archiveKeys: given }: ArchiveKeyOptions,
): Promise<KeySource | undefined> {
  if (given === undefined) return undefined;
  const { value } = await loadExport(given, io);
  const { keys = value } = Object(value) as Partial<EncryptionOptions>;
  const { success, data } = keySourceSchema.safeParse(keys);
  if (success) return data;
  throw new CommandFailure(
    "usage",
    `The export ${given} of --archive-keys is no source of keys. Export { current, get }, or a function that returns it.`,
  );
}

/** Returns the keys that encrypt a new archive. `false` with `--plain`. */
export async function newArchiveKeys(
  io: CommandIo,
  options: ArchiveKeyOptions,
): Promise<KeySource | false | undefined> {
  if (!options.plain) return archiveKeys(io, options);
  if (options.archiveKeys === undefined) return false;
  throw new CommandFailure("usage", "Pass --plain or --archive-keys, not both.");
}
