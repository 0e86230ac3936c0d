import { inspect, type ListedAgent, type AgentInspector, type Problem } from "../../inspect.ts";
import { findLog } from "../ids/findLog.ts";
import { type ExitReason, CommandFailure } from "../terminal/CommandFailure.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { counted } from "../terminal/shortTexts.ts";
import { painted } from "../terminal/painted.ts";
import { withProgress } from "../terminal/Output.ts";
import { sealsOf } from "../storage/unlocked.ts";
import { addNeededBlobs } from "../../checkpoint/pruning/neededContents.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { StorageError } from "../../errors/storageErrors.ts";
import { isAboutOneAgent } from "../../storage/summaries.ts";
import { forEachAtOnce } from "../../internal/together.ts";
import { blobsAtOnce } from "../../storage/BlobStore.ts";
import type { RecordLog } from "../../storage/RecordLog.ts";
import { readFile } from "node:fs/promises";
import { z } from "zod";

/** `verify [agent...]`: reads all data. Reports damage, and logs that lack a known checkpoint. */
export async function verify(
  session: Session,
  { since, key }: CommonOptions & { readonly since?: string; readonly key?: string },
  given: readonly string[],
): Promise<ExitReason | void> {
  const { output } = session;
  const opened = await session.open();
  const { storage } = opened;
  const view = inspect(storage);
  const seals = key === undefined ? undefined : await sealsOf(opened, key, session.io);
  const ids = [...new Set(await Promise.all(given.map((each) => findLog(storage, each))))];
  const listed: Pick<ListedAgent, "agentId" | "problem">[] = ids.map((agentId) => ({ agentId }));
  const heads = since === undefined ? new Map<string, SeenCheckpoint>() : await readSeenCheckpoints(since, ids);
  if (given.length === 0) {
    for await (const agent of view.agents()) listed.push(agent);
    const found = new Set(listed.map(({ agentId }) => agentId));
    // A restored storage may lack agents that were created after the backup.
    for (const agentId of heads.keys()) if (!found.has(agentId)) listed.push({ agentId });
  }
  let damaged = 0;
  let what = "agent";
  const found: VerifiedAgent[] = [];
  await withProgress(output, "Verifying", async (tell) => {
    for (const [at, agent] of listed.entries()) {
      tell(`${at + 1} of ${listed.length}`);
      const verified = await verifyAgent({ log: storage.log, view, seals }, agent, heads.get(agent.agentId));
      if (verified.damage.length > 0) damaged++;
      if (verified.shape !== "agent") what = "log";
      if (output.json) await output.item(verified);
      else if (verified.damage.length > 0) found.push(verified);
    }
  });
  for (const each of found) await show(session, each);
  if (!output.json)
    await output.line(
      damaged === 0
        ? painted("green", `${areCounted(listed.length, what)} intact.`)
        : painted("red", `${damaged} of ${areCounted(listed.length, what)} damaged.`),
    );
  return damaged > 0 ? "damaged" : undefined;
}

function areCounted(count: number, what: string): string {
  return `${counted(count, what)} ${count === 1 ? "is" : "are"}`;
}

async function show({ output }: Session, { agentId, damage }: VerifiedAgent): Promise<void> {
  await output.line(painted("bold", agentId));
  for (const { code, message } of damage) await output.line("  ", painted("red", code), ` ${message}`);
}

interface VerifiedAgent {
  readonly agentId: string;
  /** The kind of the log. Only records of agents are validated. */
  readonly shape: string;
  /** Empty if all data is readable. */
  readonly damage: readonly Problem[];
  /** The number of large values that were read. */
  readonly blobs: number;
}

interface Verified {
  readonly log: RecordLog;
  readonly view: AgentInspector;
  /** Compares a log with its seals. `undefined` without a key. */
  readonly seals: ((agentId: string) => Promise<readonly Problem[]>) | undefined;
}

/** Reads the log of a listed agent and all large values of the log. The log must contain `head`. */
async function verifyAgent(
  { log, view, seals }: Verified,
  { agentId, problem }: Pick<ListedAgent, "agentId" | "problem">,
  head?: SeenCheckpoint,
): Promise<VerifiedAgent> {
  const damage = new Map<string, Problem>();
  const add = ({ code, message }: Problem): unknown => damage.set(`${code} ${message}`, { code, message });
  if (problem) add(problem);
  let shape = "agent";
  await orDamage(add, async () => {
    const found = await view.agent(agentId);
    found?.damage.forEach(add);
    shape = found?.shape ?? shape;
  });
  const blobs = new Map<string, number>();
  await orDamage(add, async () => {
    for await (const { records } of log.read(agentId)) for (const record of records) addNeededBlobs(record, blobs);
  });
  await forEachAtOnce([...blobs.keys()], blobsAtOnce, (reference) =>
    orDamage(add, async () => {
      if ((await log.blobs.get(agentId, reference)) === undefined)
        add({ code: "unreadable_value", message: `the value ${reference} is missing` });
    }),
  );
  for (const change of (await seals?.(agentId)) ?? []) add(change);
  if (head)
    await orDamage(add, async () => {
      const missing = await missingCheckpoint(view, head);
      if (missing) add(missing);
    });
  return { agentId, shape, damage: [...damage.values()], blobs: blobs.size };
}

/** Adds an error about one agent. Rethrows a failure of the whole storage. */
async function orDamage(add: (problem: Problem) => unknown, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (!AgentPersistenceError.isInstance(error) || (error instanceof StorageError && !isAboutOneAgent(error)))
      throw error;
    add(error);
  }
}

/** A checkpoint of an agent that was seen outside of the storage. */
interface SeenCheckpoint {
  readonly agentId: string;
  readonly version: number;
  /** The generation in the id of the checkpoint. `undefined` if only the name is known. */
  readonly generation: number | undefined;
  /** The time of the sighting in ISO 8601. */
  readonly at: string | undefined;
}

const oneHead = /^(\d+-\d+)(?:@(.+))?$/;
const checkpointId = /^(\d+)-(\d+)$/;

const headLine = z.object({
  agentId: z.string(),
  checkpointId: z.string(),
  version: z.int().min(1).optional(),
  at: z.iso.datetime({ offset: true }).optional(),
});

/**
 * Returns the newest known head of each agent. `since` is a checkpoint id for one agent, or a file with one line of
 * JSON for each checkpoint.
 *
 * @throws CommandFailure
 */
async function readSeenCheckpoints(since: string, given: readonly string[]): Promise<Map<string, SeenCheckpoint>> {
  const [, id, at] = oneHead.exec(since) ?? [];
  if (id === undefined) return newestOf((await linesOf(since)).map((line) => headOf(line, since)));
  const [agentId] = given;
  if (agentId === undefined || given.length > 1)
    throw new CommandFailure("usage", `--since ${since} is a checkpoint of one agent. Name one agent, or pass a file.`);
  return newestOf([headOf(JSON.stringify({ agentId, checkpointId: id, at }), "--since")]);
}

/** Returns the problem if a log lacks a known head, or `undefined`. */
async function missingCheckpoint(view: AgentInspector, head: SeenCheckpoint): Promise<Problem | undefined> {
  const { checkpoints } = await view.checkpoints(head.agentId, { after: head.version - 1, limit: 1 });
  const [found] = checkpoints;
  if (found === undefined) return older(head, "the log ends before this checkpoint");
  const { version, generation, checkpointId: id, at } = found;
  // Pruning may have removed the known checkpoint. Later checkpoints have the same generation or a later one.
  const isOther = version === head.version ? generation !== head.generation : generation < (head.generation ?? 0);
  if (head.generation !== undefined && isOther) return older(head, `the log has ${id} at this position`);
  if (version === head.version && head.at !== undefined && Date.parse(at) > Date.parse(head.at))
    return older(head, `the log has another checkpoint ${id}, made at ${at}, after ${head.at}`);
  return undefined;
}

function older({ generation, version }: SeenCheckpoint, found: string): Problem {
  const id = generation === undefined ? `of version ${version}` : `${generation}-${version}`;
  const message = `checkpoint ${id} existed before, but ${found}. The storage may have been restored to an older state.`;
  return { code: "older_state", message };
}

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch((error: Error) => {
    const message = `--since is neither a checkpoint id, such as 2-7, nor a file that can be read: ${error.message}`;
    throw new CommandFailure("usage", message, { cause: error });
  });
  return text.split("\n").filter((line) => line.trim() !== "");
}

function headOf(line: string, from: string): SeenCheckpoint {
  const { agentId, checkpointId: id, version, at } = parsed(line, from);
  const [, generation, last] = checkpointId.exec(id) ?? [];
  const known = version ?? (last === undefined ? undefined : Number(last));
  if (known === undefined) throw unusable(line, from, "a checkpoint with a name needs its version");
  return { agentId, version: known, generation: generation === undefined ? undefined : Number(generation), at };
}

function parsed(line: string, from: string): z.infer<typeof headLine> {
  try {
    return headLine.parse(JSON.parse(line));
  } catch (error) {
    throw unusable(line, from, 'expected {"agentId", "checkpointId"}, and "version" and "at" if known', error);
  }
}

function unusable(line: string, from: string, why: string, cause?: unknown): CommandFailure {
  return new CommandFailure("usage", `${from} has an unusable line, ${line.slice(0, 80)}: ${why}.`, { cause });
}

function newestOf(heads: readonly SeenCheckpoint[]): Map<string, SeenCheckpoint> {
  const newest = new Map<string, SeenCheckpoint>();
  for (const head of heads)
    if (head.version >= (newest.get(head.agentId)?.version ?? 0)) newest.set(head.agentId, head);
  return newest;
}
