import type { Entry } from "../../checkpoint/records/Entry.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { logShapes } from "../../errors/storedDataErrors.ts";
import { assertAgentId } from "../../internal/options/assertAgentId.ts";
import { type PersistenceStorageProvider, offersLog } from "../../storage/PersistenceStorageProvider.ts";
import { assertOfAgent } from "../../storage/readEntries.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";

/** Throws if the first entry shows that a log is not of the expected kind. */
type CheckLog = (agentId: string, first: Pick<Entry, "records">) => void;

/**
 * Finds a log of any kind by its id or the start of its id. Messages call the log `kind`.
 *
 * @throws CommandFailure unless exactly one matches, and the error of `check`
 */
export async function findLog(
  storage: PersistenceStorageProvider,
  given: string,
  check: CheckLog = () => {},
  kind = "agent",
): Promise<string> {
  assertAgentId(given);
  if (!offersLog(storage)) return given;
  // A user may type the id of a thread without its prefix.
  for (const id of [given, ...logShapes.map((shape) => `${shape}:${given}`)])
    if (await isThere(storage.log, id, check)) return id;
  const found = await shortened(kind, given, idsIn(storage.log), inStorage(storage));
  await isThere(storage.log, found, check);
  return found;
}

/** Reads the first entry of the log. A list would be slow, because a storage may contain a hundred thousand agents. */
async function isThere(log: RecordLog, agentId: string, check: CheckLog): Promise<boolean> {
  const first = await firstOf(log, agentId);
  if (typeof first === "object") check(agentId, first);
  return first !== undefined;
}

async function firstOf(log: RecordLog, agentId: string): Promise<Pick<Entry, "records"> | "damaged" | undefined> {
  try {
    for await (const entry of log.read(agentId)) return entry;
    return undefined;
  } catch (error) {
    // A log that cannot be read exists.
    if (AgentPersistenceError.isInstance(error)) return "damaged";
    throw error;
  }
}

async function* idsIn(log: RecordLog): AsyncGenerator<string> {
  for await (const { agentId } of log.list()) yield agentId;
}

/**
 * Finds an agent by its id or the start of its id. Messages call the agent `kind`.
 *
 * @throws CommandFailure unless exactly one matches, WrongShapeError for a log of another kind
 */
export async function findAgent(storage: PersistenceStorageProvider, given: string, kind?: string): Promise<string> {
  return findLog(storage, given, assertOfAgent, kind);
}

/** @throws CommandFailure if the agent does not exist */
export function assertFound<Found>(found: Found | undefined, agentId: string): Found {
  if (found !== undefined) return found;
  throw new CommandFailure("notFound", `There is no agent ${JSON.stringify(agentId)}.`);
}

const names = new WeakMap<PersistenceStorageProvider, string>();

/** Remembers the display name of a storage for messages. */
export function nameStorage(storage: PersistenceStorageProvider, name: string): void {
  names.set(storage, name);
}

/** Returns ` in <name>` for messages, or no text for a storage that the code of an agent opened. */
function inStorage(storage: PersistenceStorageProvider): string {
  const name = names.get(storage);
  return name === undefined ? "" : ` in ${name}`;
}

/** The maximum number of ids in the message about an ambiguous id. */
const mostNamed = 5;

/**
 * Resolves an id or a unique prefix, which may end with `…` as in tables. Messages contain `kind` and `where`.
 *
 * @throws CommandFailure unless exactly one matches
 */
export async function shortened(
  kind: string,
  given: string,
  ids: AsyncIterable<string> | Iterable<string>,
  where = "",
): Promise<string> {
  const meant = new Set<string>();
  const beginning = given.replace(/…$/, "");
  let isAny = false;
  for await (const id of ids) {
    isAny = true;
    if (id === given) return id;
    if (beginning !== "" && id.startsWith(beginning) && meant.size <= mostNamed) meant.add(id);
  }
  const [only, ...others] = meant;
  if (only !== undefined && others.length === 0) return only;
  if (only === undefined)
    throw new CommandFailure(
      "notFound",
      `There is no ${kind} ${JSON.stringify(given)}${where}.${isAny ? "" : ` There is no ${kind} at all.`}`,
    );
  const named = [...meant].slice(0, mostNamed).map((id) => JSON.stringify(id));
  const more = meant.size > mostNamed ? " and more" : "";
  throw new CommandFailure("notFound", `${JSON.stringify(given)} is ambiguous. It matches ${named.join(", ")}${more}.`);
}
